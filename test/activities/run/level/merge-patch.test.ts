import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { Patch } from '../../../../activities/kube/merge-patch.ts'
import { containsAll, mergePatchTo } from '../../../../activities/run/level/merge-patch.ts'

describe('the patch to the wanted fields', () => {
  it('contains only the fields that differ, and leaves other fields of the object unchanged', () => {
    const current = { data: { a: '1', theirs: 'x' }, metadata: { labels: { b: '2' } } }
    expect(mergePatchTo(current, { data: { a: '1' } })).toBeUndefined()
    expect(mergePatchTo(current, { data: { a: '2', c: '3' }, metadata: { labels: { b: '2' } } })).toEqual({
      data: { a: '2', c: '3' },
    })
  })

  it('removes a field by null, once', () => {
    expect(mergePatchTo({ data: { a: '1' } }, { data: { a: null } })).toEqual({ data: { a: null } })
    expect(mergePatchTo({ data: {} }, { data: { a: null } })).toBeUndefined()
  })

  it('replaces a list as a whole, unless the server has only filled in defaults', () => {
    const wanted = { containers: [{ name: 'web', image: 'a' }] }
    expect(mergePatchTo({ containers: [{ name: 'web', image: 'a', policy: 'Always' }] }, wanted)).toBeUndefined()
    expect(mergePatchTo({ containers: [{ name: 'web', image: 'b' }] }, wanted)).toEqual(wanted)
    expect(mergePatchTo({ containers: [{ name: 'web', image: 'a' }, { name: 'other' }] }, wanted)).toEqual(wanted)
  })

  it('treats names of JavaScript object properties like other keys', () => {
    const wanted = JSON.parse('{"data": {"__proto__": "a", "constructor": null, "toString": "b"}}') as Patch
    expect(JSON.stringify(mergePatchTo({ data: {} }, wanted))).toBe('{"data":{"__proto__":"a","toString":"b"}}')
    const current = JSON.parse('{"data": {"__proto__": "a", "toString": "b"}}') as Patch
    expect(mergePatchTo(current, wanted)).toBeUndefined()
  })

  it('results in an object that has all wanted fields', () => {
    const json = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 }))
    fc.assert(
      fc.property(json, json, (current, wanted) => {
        const patch = mergePatchTo(current, wanted)
        const after = patch === undefined ? current : merged(current, patch)
        expect(containsAll(after, wanted)).toBe(true)
      }),
    )
  })
})

/** RFC 7386. */
function merged(current: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isMap = typeof current === 'object' && current !== null && !Array.isArray(current)
  const result = new Map<string, unknown>(isMap ? Object.entries(current) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, merged(result.get(key), value))
  }
  return Object.fromEntries(result)
}
