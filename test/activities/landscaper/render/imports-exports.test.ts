// Imports and exports of Installations: their errors. golden.test.ts tests the values.

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Blueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import type { BlueprintError } from '../../../../activities/landscaper/render/render-errors.ts'
import { finishExports, mergeExports } from '../../../../activities/landscaper/render/exports.ts'
import {
  constructImports,
  type ImportInput,
  type TargetObject,
} from '../../../../activities/landscaper/render/imports.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'

const CANARY = 'canary-5f00d1'
const engine = createTemplateEngine({ threads: 1, timeoutMs: 5000 })
afterAll(() => engine.close())

const BLUEPRINT = `
localTypes:
  port: { type: integer, minimum: 1 }
imports:
  - { name: host, type: data, schema: { type: string } }
  - { name: port, required: false, default: { value: 80 }, schema: { $ref: local://port } }
  - name: tls
    type: data
    required: false
    schema: { type: boolean }
    imports:
      - { name: certificate, schema: { type: string } }
      - { name: authority, required: false, schema: { type: string }, imports: [{ name: chain, schema: {} }] }
  - { name: cluster, targetType: kubernetes-cluster, required: false }
  - { name: zones, type: targetList, targetType: kubernetes-cluster, required: false }
  - { name: tenants, type: targetMap, targetType: kubernetes-cluster, required: false }
`
const FULL_TYPE = 'landscaper.gardener.cloud/kubernetes-cluster'

describe('the imports of an installation', () => {
  it('contain Targets, lists and maps of Targets as whole objects, also empty ones', async () => {
    const targets = {
      cluster: { target: target('c') },
      zones: { list: [target('east'), target('west')] },
      tenants: { map: { one: target('t1', 'kubernetes-cluster') } },
    }
    const data = { host: 'a' }
    const named = (name: string) => ({ name, namespace: 'demo' })
    const surplus = { target: target('own') }
    expect(await construct({ data: { ...data, surplus: 1 }, targets: { ...targets, surplus } })).toEqual({
      bindings: {
        host: 'a',
        port: 80,
        cluster: targets.cluster.target,
        zones: targets.zones.list,
        tenants: targets.tenants.map,
      },
      data: { host: 'a', port: 80 },
      targets: {
        cluster: { target: named('c') },
        zones: { list: [named('east'), named('west')] },
        tenants: { map: { one: named('t1') } },
      },
      targetObjects: targets,
    })
    const { bindings } = await construct({ data, targets: { zones: { list: [] }, tenants: { map: {} } } })
    expect(bindings).toEqual({ host: 'a', port: 80, zones: [], tenants: {} })
  })

  it('include nested imports only when the optional parent import has a value', async () => {
    const data = { host: 'a', tls: false, certificate: 'c', authority: 'b', chain: [1] }
    expect((await construct({ data })).data).toEqual({ ...data, port: 80 })
    const partial = { host: 'a', tls: false, certificate: 'c' }
    expect((await construct({ data: partial })).data).toEqual({ ...partial, port: 80 })
    const without = await construct({ data: { host: 'a', certificate: 'c' } })
    expect(without.data).toEqual({ host: 'a', port: 80 })
    const failure = await rejection(construct({ data: { host: 'a', tls: true, authority: 'b' } }))
    expect(failure.message).toBe(
      [
        'import "certificate": no value; add data to spec.imports.data or spec.importDataMappings',
        'import "chain": no value; add data to spec.imports.data or spec.importDataMappings',
      ].join(' | '),
    )
  })

  it('may have names of JavaScript object properties, and non-ASCII values', async () => {
    const names = ['__proto__', 'constructor', '\u00fcber']
    const blueprint = `imports: [${names.map((name) => `{ name: ${name}, schema: { type: string } }`).join(', ')}]`
    const data = JSON.parse('{"__proto__":"\u{1F600}","constructor":"b","\u00fcber":"c"}') as Record<string, unknown>
    const constructed = await construct({ data }, blueprint)
    expect(Object.entries(constructed.data)).toEqual(Object.entries(data))
    expect(Object.entries(constructed.bindings)).toEqual(Object.entries(data))
    const failure = await rejection(construct({}, blueprint))
    expect(failure.message).toContain('import "__proto__": no value')
  })
})

describe('imports that do not match the blueprint', () => {
  it.each<[string, Given, string, string]>([
    [
      'none at all',
      {},
      'ImportNotSatisfied',
      'import "host": no value; add data to spec.imports.data or spec.importDataMappings',
    ],
    [
      'a target for data, data for a target, one target for a list',
      {
        data: { cluster: CANARY },
        targets: { host: { target: target(CANARY) }, zones: { target: target(CANARY) }, tenants: { list: [] } },
      },
      'ImportNotSatisfied',
      'import "host": found a target; expected data from spec.imports.data or spec.importDataMappings | ' +
        'import "zones": found a target; expected a list of targets | ' +
        'import "tenants": found a list of targets; expected a map of targets',
    ],
    [
      'values of other types',
      { data: { host: [CANARY], port: -1, tls: CANARY, certificate: 'x' } },
      'SchemaValidationFailed',
      'import "host": must be string, found a list | import "port": must be >= 1 | ' +
        'import "tls": must be boolean, found a string',
    ],
    ['null', { data: { host: null } }, 'SchemaValidationFailed', 'import "host": must be string, found nothing'],
    [
      'targets of other types',
      {
        data: { host: 'a' },
        targets: {
          cluster: { target: target('c', CANARY) },
          zones: { list: [target('a'), target('b', 'kubernetes-cluster')] },
          tenants: { map: { one: target('t') } },
        },
      },
      'SchemaValidationFailed',
      `import "cluster": found a target of another type; expected type "${FULL_TYPE}" | ` +
        `import "zones"[1]: found a target of another type; expected type "${FULL_TYPE}" | ` +
        'import "tenants"[one]: found a target of another type; expected type "kubernetes-cluster"',
    ],
  ])('fail with every problem: %s', async (_, given, code, message) => {
    expect(await rejection(construct(given))).toMatchObject({ code, message })
  })

  it('fail when the blueprint has no schema for a value, or an invalid default', async () => {
    const bare = 'imports: [{ name: a, type: data, required: false }]'
    expect((await construct({}, bare)).data).toEqual({})
    expect(await rejection(construct({ data: { a: 1 } }, bare))).toMatchObject({
      code: 'SchemaValidationFailed',
      message: 'import "a": schema is missing in blueprint.yaml; add it',
    })
    const wrong = 'imports: [{ name: a, required: false, default: { value: 5 }, schema: { type: string } }]'
    expect(await rejection(construct({}, wrong))).toMatchObject({
      code: 'InvalidDefaultValue',
      message: 'import "a": must be string, found a number',
    })
    expect((await construct({ data: { a: 'given' } }, wrong)).data).toEqual({ a: 'given' })
  })

  it('fail with the name of a mapping that cannot be rendered, but without the values', async () => {
    const data = { host: CANARY }
    const failure = await rejection(construct({ data, mappings: { port: '(( error(host) ))' } }))
    expect(failure.code).toBe('TemplatingFailed')
    expect(failure.message.split('\n')).toEqual([
      'template "importDataMappings.port": unresolved nodes:',
      '\t(( error(host) ))\tin template\t\t()\t***',
      'input: {"host":"[string]"}',
    ])
  })
})

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
        'export "cluster": found a target of another type; expected a target of type "landscaper.gardener.cloud/mock"',
        'export "url": must be string, found a number',
        'export "count": must be integer,null, found a string',
        'export "tagged": at /tags/1: must be string, found a number',
      ].join(' | '),
    })
  })

  it('fail when the installation requests an export that is not defined or not produced', async () => {
    await expect(finish({ url: 'a', other: 1 }, {}, ['url', 'free', 'other'])).rejects.toMatchObject({
      code: 'ExportNotProduced',
      message:
        'export "free": no value; set it in an export execution of the blueprint, or in spec.exportDataMappings | ' +
        'export "other": unknown export; define it in blueprint.yaml or spec.exportDataMappings',
    })
    expect(await finish({}, { other: 1 }, ['other'])).toEqual({ other: 1 })
  })

  it('fail with the name of each requested export whose value is null', async () => {
    await expect(finish({ count: null }, { other: null }, ['count', 'other'])).rejects.toMatchObject({
      code: 'ExportNotProduced',
      message:
        'export "count": the value is null; expected another value | export "other": the value is null; expected another value',
    })
  })

  it('may have names of JavaScript object properties', async () => {
    const produced = JSON.parse('{"__proto__":"a"}') as Record<string, unknown>
    const exports = await finish(produced, {}, ['__proto__'], 'exports: [{ name: __proto__, schema: {} }]')
    expect(Object.entries(exports)).toEqual([['__proto__', 'a']])
    await expect(finish({}, {}, ['constructor'])).rejects.toMatchObject({ code: 'ExportNotProduced' })
  })
})

interface Given {
  data?: Record<string, unknown>
  targets?: ImportInput['loaded']['targets']
  mappings?: Record<string, unknown>
}

async function construct({ data = {}, targets = {}, mappings = {} }: Given, definition = BLUEPRINT) {
  const input = { blueprintSpec: { inline: {} }, loaded: { data, targets }, mappings }
  return await constructImports(engine, blueprintOf(definition), input)
}

function blueprintOf(definition: string): Blueprint {
  return { ...readDefinition(definition), files: { 'blueprint.yaml': definition } }
}

function target(name: string, type = FULL_TYPE): TargetObject {
  return { metadata: { name, namespace: 'demo' }, spec: { type, config: { token: CANARY } } }
}

async function rejection(constructed: Promise<unknown>): Promise<BlueprintError> {
  const outcome = await constructed.then(
    () => new Error('found imports; expected a failure'),
    (error: unknown) => error,
  )
  expect((outcome as Error).message).not.toContain(CANARY)
  return outcome as BlueprintError
}

const EXPORTS = `
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
  definition = EXPORTS,
) {
  return await finishExports(engine, blueprintOf(definition), { produced, mappings, requested })
}

/** Each value that is not a map, with its path. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}=${String(value)}`]
  return Object.entries(value).flatMap(([key, entry]) => leaves(entry, `${path}.${key}`))
}
