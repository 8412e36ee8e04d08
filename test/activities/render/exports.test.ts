import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkExports, mergeExports } from '../../../activities/render/exports.ts'

describe('merging exports', () => {
  it('merges maps at any depth and lets the later value win elsewhere', () => {
    const earlier = { a: { b: { x: 1, y: [1, 2] }, c: 'text' }, d: 1 }
    const later = { a: { b: { y: [3], z: null }, c: { now: 'a map' } }, e: false }
    expect(mergeExports(earlier, later)).toEqual({
      a: { b: { x: 1, y: [3], z: null }, c: { now: 'a map' } },
      d: 1,
      e: false,
    })
  })

  it('has the empty map as identity, changes nothing when repeated, and keeps all that came later', () => {
    const fields = fc.dictionary(
      fc.constantFrom('a', 'b', '__proto__'),
      fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 3 },
          fc.constantFrom(1, 'x', null),
          fc.dictionary(fc.constantFrom('a', 'b'), tie('value')),
        ),
      })).value,
    )
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        const merged = mergeExports(a, b)
        expect(mergeExports(a, {})).toEqual({ ...a })
        expect(mergeExports({}, a)).toEqual({ ...a })
        expect(mergeExports(merged, b)).toEqual(merged)
        expect(leaves(merged)).toEqual(expect.arrayContaining(leaves(b)))
      }),
    )
  })
})

describe('the exports of an installation', () => {
  const blueprint = {
    files: {},
    deployExecutions: [],
    exportExecutions: [],
    exports: [
      { name: 'url', type: 'data' as const, schema: { type: 'string' } },
      { name: 'count', type: 'data' as const, schema: { type: ['integer', 'null'] } },
      { name: 'free', type: 'data' as const, schema: {} },
      { name: 'cluster', type: 'target' as const, targetType: 'landscaper.gardener.cloud/mock' },
    ],
  }

  it('are those that are both defined and produced', () => {
    const cluster = { type: 'landscaper.gardener.cloud/mock', config: {} }
    const produced = { url: 'http://a', count: null, cluster, surplus: 1 }
    expect(checkExports(blueprint, produced, ['url', 'cluster'])).toEqual({
      exports: { url: 'http://a', count: null, cluster },
      dropped: ['surplus'],
    })
  })

  it('fail with every mismatch, without the values', () => {
    const produced = { url: 1, count: 'canary', cluster: { type: 'canary' }, free: 'canary' }
    expect(() => checkExports(blueprint, produced, [])).toThrow(
      expect.objectContaining({
        code: 'SchemaValidationFailed',
        message:
          'export url: found a number, expected type string; export count: found a string, expected type integer or null; ' +
          'export cluster: found a target of another type, expected a target of type landscaper.gardener.cloud/mock',
      }) as Error,
    )
  })

  it('fail when the installation wants one that was not produced', () => {
    expect(() => checkExports(blueprint, { url: 'a', other: 1 }, ['url', 'free', 'other'])).toThrow(
      expect.objectContaining({
        code: 'ExportNotProduced',
        message: 'export free, other: is not defined, expected the blueprint to define and produce it',
      }) as Error,
    )
  })
})

/** Each value that is not a map, with its path. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}=${String(value)}`]
  return Object.entries(value).flatMap(([key, entry]) => leaves(entry, `${path}.${key}`))
}
