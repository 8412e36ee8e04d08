import { describe, expect, it } from 'vitest'

import { isPartitionHandled, partitionOf, path } from '../../../../workflows/kit/index.ts'

const PARTITIONS = { path: path('spec.type'), names: ['a', 'b'], flag: 'types' }

describe('the partition of an object', () => {
  it('is the value in its projection, if that is a known partition', () => {
    expect(partitionOf(PARTITIONS, { spec: { type: 'b' } })).toBe('b')
    for (const spec of [{ type: 'c' }, { type: 7 }, {}, undefined])
      expect(partitionOf(PARTITIONS, { spec })).toBeUndefined()
    expect(partitionOf(undefined, { spec: { type: 'b' } })).toBeUndefined()
  })

  it('is handled by a run that names it or names none; all runs handle objects without a partition', () => {
    expect(isPartitionHandled(['a'], 'a')).toBe(true)
    expect(isPartitionHandled(['a'], 'b')).toBe(false)
    expect(isPartitionHandled([], 'b')).toBe(false)
    for (const all of [null, undefined]) expect(isPartitionHandled(all, 'b')).toBe(true)
    expect(isPartitionHandled(['a'], undefined)).toBe(true)
  })
})
