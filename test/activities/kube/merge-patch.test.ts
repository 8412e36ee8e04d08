import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { additivePatch, applyMergePatch, mergePatch, type Patch } from '../../../activities/kube/merge-patch.ts'

const keys = fc.constantFrom('a', 'b', 'constructor', '__proto__')
const values = fc.letrec((tie) => ({
  leaf: fc.oneof(fc.integer({ max: 2, min: 0 }), fc.boolean(), fc.constantFrom('', 'x')),
  map: fc.dictionary(keys, tie('value'), { maxKeys: 3 }),
  value: fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('map'), fc.array(tie('leaf'), { maxLength: 2 })),
}))
const objects = fc.dictionary(keys, values.value, { maxKeys: 4 }) as fc.Arbitrary<Patch>

/** RFC 7386, as the API server applies it. */
function apply(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch
  const result = new Map<string, unknown>(isMap(target) ? Object.entries(target) : [])
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, apply(result.get(key), value))
  }
  return Object.fromEntries(result)
}

function isMap(value: unknown): value is Patch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

describe('a merge patch', () => {
  it('turns the current object into the desired one', () => {
    fc.assert(
      fc.property(objects, objects, (current, desired) => {
        const patch = mergePatch(current, desired) ?? {}
        expect(apply(current, patch)).toEqual(desired)
        expect(applyMergePatch(current, patch)).toEqual(desired)
      }),
    )
  })

  it('is undefined without a difference', () => {
    fc.assert(
      fc.property(objects, (one) => {
        expect(mergePatch(one, structuredClone(one))).toBeUndefined()
      }),
    )
  })

  it('contains only differing fields', () => {
    const current = { same: 1, gone: 1, map: { same: 1, other: 1 }, list: [1, 2] }
    const desired = { same: 1, map: { same: 1, other: 2 }, list: [1, 3], none: undefined, nothing: null }
    expect(mergePatch(current, desired)).toEqual({ gone: null, map: { other: 2 }, list: [1, 3] })
  })

  it('keeps keys of other writers when it is additive', () => {
    fc.assert(
      fc.property(objects, objects, (current, desired) => {
        expect(apply(current, additivePatch(current, desired) ?? {})).toEqual({ ...current, ...desired })
      }),
    )
  })
})
