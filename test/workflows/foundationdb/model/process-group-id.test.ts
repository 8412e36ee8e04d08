import { describe, expect, it } from 'vitest'

import {
  formatProcessGroupID,
  newProcessGroupIDs,
  parseProcessGroupID,
  podName,
  volumeClaimName,
} from '../../../../workflows/foundationdb/model/process-group-id.ts'

describe('the ID of a process group', () => {
  it.each([
    ['storage-1', { prefix: undefined, processClass: 'storage', number: 1 }, 'db-storage-1'],
    ['dc1-log-99999', { prefix: 'dc1', processClass: 'log', number: 99999 }, 'db-log-99999'],
    [
      'a-b-cluster_controller-7',
      { prefix: 'a-b', processClass: 'cluster_controller', number: 7 },
      'db-cluster-controller-7',
    ],
  ])('%s names its objects', (id, parsed, pod) => {
    expect(parseProcessGroupID(id)).toEqual(parsed)
    expect(formatProcessGroupID(parsed)).toBe(id)
    expect([podName('db', id), volumeClaimName('db', id)]).toEqual([pod, `${pod}-data`])
  })

  it.each(['storage', '1', 'storage-', 'storage-1-x', '../x', ''])('%j is invalid', (id) => {
    expect(parseProcessGroupID(id)).toBeUndefined()
  })

  it('is new, from 1 to 99999, and the same in a repeated pass', () => {
    const kind = { prefix: 'dc1', processClass: 'storage' }
    const first = newProcessGroupIDs(kind, 5, { taken: [], seed: 'uid' })
    const numbers = first.map((id) => parseProcessGroupID(id)?.number ?? 0)
    expect(numbers.every((number) => number >= 1 && number <= 99999)).toBe(true)
    expect(new Set(first).size).toBe(5)
    expect(newProcessGroupIDs(kind, 5, { taken: [], seed: 'uid' })).toEqual(first)
    expect(newProcessGroupIDs(kind, 1, { taken: first.slice(0, 3), seed: 'uid' })).toEqual([first[3]])
  })
})
