import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import { finishExports, mergeExports } from '../../../../activities/landscaper/render/exports.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'

const engine = createTemplateEngine({ threads: 1 })
afterAll(() => engine.close())

describe('merging exports', () => {
  it('has the empty map as identity, is idempotent, and keeps every later value', () => {
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
  it('fail with every schema mismatch, but without the values', async () => {
    const produced = {
      url: 1,
      count: 'canary',
      cluster: { type: 'canary' },
      free: 'canary',
      tagged: { tags: ['x', 1] },
    }
    await expect(finish(produced, {}, [])).rejects.toMatchObject({
      code: 'SchemaValidationFailed',
      message: [
        'export cluster: found a target of another type, expected a target of type landscaper.gardener.cloud/mock',
        'export url: type: must be string, found a number',
        'export count: type: must be integer,null, found a string',
        'export tagged: at /tags/1: type: must be string, found a number',
      ].join('; '),
    })
  })

  it('fail when the installation requests an export that is not defined or not produced', async () => {
    await expect(finish({ url: 'a', other: 1 }, {}, ['url', 'free', 'other'])).rejects.toMatchObject({
      code: 'ExportNotProduced',
      message:
        'export free, other: is not defined, expected the blueprint to define and produce it, or exportDataMappings to hold it',
    })
    expect(await finish({}, { other: 1 }, ['other'])).toEqual({ other: 1 })
  })

  it('fail with the name of each requested export whose value is null', async () => {
    await expect(finish({ count: null }, { other: null }, ['count', 'other'])).rejects.toMatchObject({
      code: 'ExportNotProduced',
      message:
        'export count: the value is null, expected a value that can be stored; export other: the value is null, expected a value that can be stored',
    })
  })

  it('may have names of JavaScript object properties', async () => {
    const produced = JSON.parse('{"__proto__":"a"}') as Record<string, unknown>
    const exports = await finish(produced, {}, ['__proto__'], 'exports: [{ name: __proto__, schema: {} }]')
    expect(Object.entries(exports)).toEqual([['__proto__', 'a']])
    await expect(finish({}, {}, ['constructor'])).rejects.toMatchObject({ code: 'ExportNotProduced' })
  })
})

const DEFINITION = `
localTypes:
  tags: { type: array, items: { type: string } }
exports:
  - { name: url, schema: { type: string } }
  - { name: count, schema: { type: [integer, 'null'] } }
  - { name: free, schema: {} }
  - { name: tagged, type: data, schema: { properties: { tags: { $ref: local://tags } } } }
  - { name: cluster, targetType: mock }
`

async function finish(
  produced: Record<string, unknown>,
  mappings: Record<string, unknown>,
  requested: string[],
  definition = DEFINITION,
) {
  const blueprint = { ...readDefinition(definition), files: {} }
  return await finishExports(engine, blueprint, { produced, mappings, requested })
}

/** Each value that is not a map, with its path. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}=${String(value)}`]
  return Object.entries(value).flatMap(([key, entry]) => leaves(entry, `${path}.${key}`))
}
