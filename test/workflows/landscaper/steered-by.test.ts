// The webhook records which user sets a control annotation. On an API server: test/env/webhook.test.ts.

import { describe, expect, it } from 'vitest'

import { recordedName, steeredByMutations } from '../../../workflows/landscaper/steered-by.ts'
import { deployItemAdmission } from '../../../workflows/landscaper/deploy-item/admission.ts'

const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const SKIP = 'landscaper.gardener.cloud/pawl-skip'
const OPERATION = 'landscaper.gardener.cloud/operation'
const RECORD = 'landscaper.gardener.cloud/pawl-steered-by'
const AT = ['metadata', 'annotations', RECORD]

type Annotations = Readonly<Record<string, unknown>>

const [mutation] = steeredByMutations([PAUSED])

function changed(annotations: Annotations, before: Annotations | undefined, name = 'alice') {
  const object = { metadata: { annotations } }
  const old = before && { metadata: { annotations: before } }
  const operation = old === undefined ? 'CREATE' : 'UPDATE'
  return mutation?.mutate({ operation, object, old, user: { name, groups: [] } })
}

function record(entries: object): string {
  return JSON.stringify(entries)
}

const OF_ALICE = record({ [PAUSED]: { value: 'a freeze', by: 'alice' } })

describe('the record', () => {
  it('names the user whose request sets the annotation, and replaces any record from the client', () => {
    for (const forged of [undefined, OF_ALICE, 'x', 7, record({ [PAUSED]: { value: 'a freeze', by: 'bob' } })]) {
      const annotations = { [PAUSED]: 'a freeze', ...(forged !== undefined && { [RECORD]: forged }) }
      const value = record({ [PAUSED]: { value: 'a freeze', by: 'mallory' } })
      for (const before of [undefined, {}, { [PAUSED]: 'before', [RECORD]: OF_ALICE }])
        expect(changed(annotations, before, 'mallory')).toEqual([{ path: AT, value }])
    }
  })

  it('stays unchanged while the annotation is unchanged', () => {
    const before = { [PAUSED]: 'a freeze', [RECORD]: OF_ALICE }
    expect(changed(before, before, 'mallory')).toEqual([])
    for (const forged of [{}, { [RECORD]: record({ [PAUSED]: { value: 'a freeze', by: 'bob' } }) }])
      expect(changed({ [PAUSED]: 'a freeze', ...forged }, before, 'mallory')).toEqual([{ path: AT, value: OF_ALICE }])
  })

  it('cannot be added afterwards', () => {
    const annotations = { [PAUSED]: 'a freeze', [RECORD]: OF_ALICE }
    expect(changed(annotations, { [PAUSED]: 'a freeze' }, 'mallory')).toEqual([{ path: AT, value: undefined }])
  })

  it('is removed with the annotation, and is absent without it', () => {
    const before = { [PAUSED]: 'a freeze', [RECORD]: OF_ALICE }
    expect(changed({ [RECORD]: OF_ALICE }, before)).toEqual([{ path: AT, value: undefined }])
    expect(changed({}, before)).toEqual([])
    expect(changed({ [RECORD]: OF_ALICE }, undefined)).toEqual([{ path: AT, value: undefined }])
  })

  it('has a limited length, in which shortened names are visible, and only printable characters', () => {
    const annotations = { [PAUSED]: 'x'.repeat(5000) }
    const [{ value } = { value: '' }] = changed(annotations, undefined, `a\nb\u202Ec${'d'.repeat(500)}`) ?? []
    expect(String(value).length).toBeLessThan(1000)
    const name = recordedName({ metadata: { annotations: { ...annotations, [RECORD]: value } } }, PAUSED)
    expect(name).toMatch(/^a\?b\?cd+…$/)
    expect(name).toHaveLength(256)
  })

  it('is valid only for the value that it describes', () => {
    const of = (value: string, text: unknown) =>
      recordedName({ metadata: { annotations: { [PAUSED]: value, [RECORD]: text } } }, PAUSED)
    expect(of('a freeze', OF_ALICE)).toBe('alice')
    expect(of('another', OF_ALICE)).toBeUndefined()
    for (const text of [
      '',
      '{',
      '[]',
      '7',
      '{"a":1}',
      undefined,
      7,
      record({ [PAUSED]: { value: 'a freeze', by: 7 } }),
    ])
      expect(of('a freeze', text)).toBeUndefined()
  })

  it.each([undefined, null, 7, [], { metadata: null }, { metadata: { annotations: [] } }])(
    'causes no error for the object %j',
    (object) => {
      const user = { name: 'x', groups: [] }
      expect(mutation?.mutate({ operation: 'UPDATE', object: object as object, old: {}, user })).toEqual([])
    },
  )

  it('of an item covers skips and retries', () => {
    const [one] = deployItemAdmission.mutations ?? []
    const by = (annotations: object) =>
      one?.mutate?.({
        operation: 'UPDATE',
        old: {},
        object: { metadata: { annotations } },
        user: { name: 'alice', groups: [] },
      })
    const value = record({ [SKIP]: { value: 'why', by: 'alice' }, [OPERATION]: { value: 'retry', by: 'alice' } })
    expect(by({ [OPERATION]: 'retry', [SKIP]: 'why' })).toEqual([{ path: AT, value }])
    expect(by({ [OPERATION]: 'interrupt' })).toEqual([])
  })
})
