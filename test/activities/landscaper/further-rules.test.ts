// Webhook rules for data that a thread must unpack or parse first.

import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'

import { openAsyncRules } from '../../../activities/landscaper/further-rules.ts'
import { problemText } from '../../../workflows/kit/index.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'

const rules = openAsyncRules()
afterAll(() => rules.close())

async function problems(kind: typeof executionKind | typeof installationKind, spec: object, metadata: object = {}) {
  const asked = { operation: 'CREATE', old: undefined, user: { name: 'x', groups: [] }, namespace: 'n' } as const
  const found = await rules.validate({
    ...asked,
    kind,
    object: { metadata, spec },
    signal: AbortSignal.timeout(60_000),
  })
  return found.map(problemText)
}

const packed = (value: unknown) => gzipSync(JSON.stringify(value)).toString('base64')
const CONFIG = { apiVersion: 'x/v1', kind: 'X' }
const item = (name: string, more: object = {}) => ({ name, type: 't', config: CONFIG, ...more })
const execution = async (deployItemsCompressed: string) => await problems(executionKind, { deployItemsCompressed })

describe('the compressed items of an Execution', () => {
  it('pass when there is an order in which they can run', async () => {
    expect(await execution(packed([item('a'), item('b', { dependsOn: ['a'] })]))).toEqual([])
    expect(await problems(executionKind, { deployItems: [] })).toEqual([])
  })

  it('are refused by the rules of the plain list, with the path of a cycle', async () => {
    const items = [item('a', { dependsOn: ['b'] }), item('b', { dependsOn: ['a'] }), item('c', { type: '' })]
    expect(await execution(packed(items))).toEqual([
      'spec.deployItemsCompressed[2].type: found nothing; expected the type, which selects the deployer',
      'spec.deployItemsCompressed: found items that depend on each other: a -> b -> a; expected no cycle',
    ])
  })

  it('pass when the job of an Installation has rendered them, because that job reports their mistakes', async () => {
    const deployItemsCompressed = packed([item('a', { dependsOn: ['a'] })])
    const { apiVersion, kind } = installationKind
    const owner = { apiVersion, kind, name: 'shop', uid: 'u', controller: true }
    expect(await problems(executionKind, { deployItemsCompressed })).not.toEqual([])
    expect(await problems(executionKind, { deployItemsCompressed }, { ownerReferences: [owner] })).toEqual([])
  })

  it.each([
    ['bm8gemlw', 'incorrect header check'],
    [gzipSync('{').toString('base64'), 'no JSON'],
    [packed({ a: 1 }), 'JSON of another shape'],
    [gzipSync(Buffer.alloc(40 * 1024 * 1024)).toString('base64'), 'more than 33554432 bytes when unpacked'],
    [packed(Array.from({ length: 5001 }, (_, index) => item(`i${index}`))), '5001 deploy items'],
  ])('are refused when they cannot be read', async (text, found) => {
    const [told = '', ...more] = await execution(text)
    expect(more).toEqual([])
    expect(told).toMatch(/^spec\.deployItemsCompressed: found /)
    expect(told).toContain(found)
  })
})

describe('the blueprint of an Installation', () => {
  const sub = (name: string, imported: string, exported: string, more: object = {}) => ({
    name,
    blueprint: { filesystem: { 'blueprint.yaml': '{}' } },
    imports: { data: [{ name: 'x', dataRef: imported }] },
    exports: { data: [{ name: 'y', dataRef: exported }] },
    ...more,
  })
  const RING = [sub('a', 'two', 'one'), sub('b', 'one', 'two')]
  const TOLD = 'expected no cycle'
  const installation = async (filesystem: unknown) =>
    await problems(installationKind, { blueprint: { inline: { filesystem } } })
  const files = (definition: object, more: object = {}) => ({ 'blueprint.yaml': JSON.stringify(definition), ...more })

  it('is refused with the path of the cycle when its sub-installations import from each other', async () => {
    const told = `spec.blueprint.inline: found sub-installations that import from each other: a -> b -> a; ${TOLD}`
    expect(await installation(files({ subinstallations: RING }))).toEqual([told])
    expect(await installation(JSON.stringify(files({ subinstallations: RING })))).toEqual([told])
    const listed = { subinstallations: [RING[0], { file: 'b.yaml' }] }
    expect(await installation(files(listed, { 'b.yaml': JSON.stringify(RING[1]) }))).toEqual([told])
  })

  it('is refused when nested sub-installations import from each other', async () => {
    const inner = { filesystem: files({ subinstallations: RING }) }
    const outer = { subinstallations: [sub('outer', 'p', 'q', { blueprint: inner })] }
    expect(await installation(files(outer))).toEqual([
      `spec.blueprint.inline: found sub-installations that import from each other: a -> b -> a, in outer; ${TOLD}`,
    ])
  })

  it.each([
    [
      'sub-installations that have an order',
      files({ subinstallations: [sub('a', 'zero', 'one'), sub('b', 'one', 'two')] }),
    ],
    ['sub-installations that a template renders', files({ subinstallationExecutions: [{ name: 'subinstallations' }] })],
    ['an invalid blueprint', { 'blueprint.yaml': '{ subinstallations: [' }],
    ['a missing file', files({ subinstallations: [{ file: 'lost.yaml' }] })],
    ['invalid sub-installations', files({ subinstallations: ['text', 7, null, {}] })],
    ['recursive aliases', { 'blueprint.yaml': `subinstallations: &a [${'*a,'.repeat(10_000)}]` }],
  ])('passes with %s', async (_, filesystem) => {
    expect(await installation(filesystem)).toEqual([])
  })
})
