import { describe, expect, it } from 'vitest'

import { USER_INFO_MUTATIONS } from '../../../workflows/chaos/user-info.ts'

const ALICE = { name: 'alice@example.com', groups: ['dev', 'system:authenticated'] }
const RECORD = '{"username":"alice@example.com","groups":["dev","system:authenticated"]}'
const by = (info?: string) => ({
  metadata: { name: 'game', ...(info !== undefined && { annotations: { UserInfo: info } }) },
})

function recorded(operation: 'CREATE' | 'UPDATE', object: object, old?: object): readonly unknown[] {
  const changes = USER_INFO_MUTATIONS.map((one) => one.mutate?.({ operation, object, old, user: ALICE }) ?? [])
  expect(changes[0]).toEqual(changes[1])
  return changes[0]?.map(({ path, value }) => [path.join('/'), value]) ?? []
}

describe('the recorded creator of a Disruption', () => {
  it.each([
    ['nothing', by()],
    ['that it was another', by('{"username":"bob","groups":[]}')],
  ])('is the user of the request, where the client says %s', (_, object) => {
    expect(recorded('CREATE', object)).toEqual([['metadata/annotations/UserInfo', RECORD]])
  })

  it('is kept by an update without it', () => {
    expect(recorded('UPDATE', by(), by('bob'))).toEqual([['metadata/annotations/UserInfo', 'bob']])
  })

  it('is not added by an update if none was recorded', () => {
    expect(recorded('UPDATE', by(), by())).toEqual([])
  })
})
