import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'

import { crdModule } from '../../../../worker/gen/crd-types/crd-module.ts'
import { problemText } from '../../../../worker/gen/crd-types/problems.ts'
import { compilerErrors } from '../../../support/compiler/compiler-errors.ts'

const FIXTURES = join(import.meta.dirname, 'fixtures')
const workshop = await readFile(join(FIXTURES, 'workshop.yaml'), 'utf8')

describe('the types of a bundle with all that a schema can say', () => {
  // After a deliberate change: vitest run --project unit test/worker/gen/crd-types --update
  it.each([
    ['workshop-v1.gen.ts', 'v1'],
    ['workshop-v1alpha1.gen.ts', 'v1alpha1'],
  ])('are those of %s', async (golden, version) => {
    await expect(textOf(workshop, version)).toMatchFileSnapshot(join(FIXTURES, golden))
  })

  it('have the version in their names when the bundle serves several versions', () => {
    const all = textOf(workshop)
    expect(all.match(/(?<=^export interface )\w+(?= \{\n {2}readonly apiVersion: 'workshop)/gm)).toEqual([
      ...['WidgetV1', 'WidgetV1beta1', 'Record2'],
    ])
    expect(all).toContain(`
/** @deprecated workshop.example.com/v1beta1 goes; use v1 */
export interface WidgetV1beta1 {
  readonly apiVersion: 'workshop.example.com/v1beta1'
`)
  })

  it('compile under the flags of this repository, and fit the objects that they are for', { timeout: 60_000 }, () => {
    const types = textOf(workshop, 'v1')
    expect(compile({ workshop: types, use: USE })).toEqual([])
  })

  it('have the form that prettier would give them', async () => {
    const settings = { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 }
    for (const version of [undefined, 'v1']) {
      const text = textOf(workshop, version)
      expect(await format(text, settings)).toBe(text)
    }
  })

  it('are the same from JSON, from a list, and with other line ends', () => {
    const crd = widget({ properties: { size: { type: 'integer', description: 'A\nB' } } })
    const expected = textOf(JSON.stringify(crd))
    expect(textOf(JSON.stringify(crd, null, '\t'))).toBe(expected)
    expect(textOf(JSON.stringify({ kind: 'List', apiVersion: 'v1', items: [crd] }))).toBe(expected)
    expect(textOf(JSON.stringify(crd).replace('A\\nB', 'A\\r\\nB'))).toBe(expected)
  })
})

describe('a file that says nothing wrong', () => {
  it('has the kinds that lack the wanted version left out, and tells which', () => {
    expect(crdModule(workshop, { file: 'x', version: 'v1beta1' })).toMatchObject({
      skipped: ['Record of workshop.example.com'],
    })
    expect(crdModule(workshop, { file: 'x', version: undefined })).toMatchObject({ skipped: [] })
  })

  it('lets no text of it out of its comment or its quotes', { timeout: 60_000 }, () => {
    const evil = `*/ export const broken: string = 1 /* ' " \\ \${x} \` \u2028 \n @x`
    const crd = widget({
      description: evil,
      properties: { [evil]: { type: 'string', enum: [evil], default: evil, description: evil } },
    })
    const text = textOf(JSON.stringify(crd))
    expect(compile({ widget: text })).toEqual([])
    expect(text.match(/^export \w+ \w+/gm)).toEqual([
      'export interface Widget',
      'export interface WidgetSpec',
      'export type WidgetSpecExportConstBrokenString1XX',
      'export interface ObjectMeta',
      'export interface OwnerReference',
    ])
  })
})

describe('a mistake', () => {
  const spec = '  versions: [{ name: v1, schema: { openAPIV3Schema: { type: object, properties: { spec: '
  it.each([
    ['{ type: strin }', 'spec.type: found "strin"; expected one of string, integer, number, boolean, array, object'],
    ['{ type: [string, "null"] }', 'spec.type: found a list; expected one of string, integer, number, boolean'],
    ['{ description: x }', 'spec.type: found nothing; expected a type: one of string, integer'],
    ['{ $ref: "#/x" }', 'spec.$ref: found "#/x"; expected the schema itself'],
    ['text', 'spec: found "text"; expected a schema'],
    ['{ type: array }', 'spec.items: found nothing; expected a schema'],
    ['{ type: array, items: [{ type: string }] }', 'spec.items: found a list; expected a schema'],
    ['{ type: object, properties: [x] }', 'spec.properties: found a list; expected an object of schemas'],
    [
      '{ type: object, required: x, properties: { x: { type: string } } }',
      'spec.required: found "x"; expected a list of names',
    ],
    [
      '{ type: object, properties: { a.b: { type: x } } }',
      'spec.properties["a.b"].type: found "x"; expected one of string',
    ],
    [
      '{ type: object, properties: { a: { type: string } }, additionalProperties: { type: string } }',
      'spec.additionalProperties: found additionalProperties and properties; expected one of them',
    ],
    ['{ type: string, enum: x }', 'spec.enum: found "x"; expected a list of values'],
    ['{ type: string, enum: [] }', 'spec.enum: found an empty list; expected at least one value'],
    ['{ type: string, enum: [a, 2] }', 'spec.enum[1]: found 2; expected a string, because of the type'],
  ])('in the schema %s is named with its place', (schema, message) => {
    const [problem = '', ...more] = problemsOf(`${HEAD}${spec}${schema} }}}}]\n`)
    expect(problem).toMatch(/^f\.yaml:8:\d+: document 1: spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\./)
    expect(problem).toContain(message)
    expect(more).toEqual([])
  })

  it.each([
    [
      'a version without a schema',
      '  versions: [{ name: v1 }]',
      8,
      'openAPIV3Schema: found nothing; expected a schema',
    ],
    [
      'a schema of no object',
      '  versions: [{ name: v1, schema: { openAPIV3Schema: { type: string } } }]',
      8,
      'type: found "string"; expected "object"',
    ],
    ['no versions', '', 5, 'spec.versions: found nothing; expected a list of versions'],
    [
      'an empty list of versions',
      '  versions: []',
      8,
      'spec.versions: found an empty list; expected a list of versions',
    ],
    [
      'a version of no form',
      '  versions: [{ name: "v1;", schema: { openAPIV3Schema: { type: object } } }]',
      8,
      'spec.versions[0].name: found "v1;"; expected a string that matches',
    ],
  ])('like %s is named with its place', (_, versions, line, message) => {
    const [problem = '', ...more] = problemsOf(`${HEAD}${versions}\n`)
    expect(problem).toMatch(new RegExp(`^f\\.yaml:${line}:\\d+: document 1: `))
    expect(problem).toContain(message)
    expect(more).toEqual([])
  })

  it.each([
    ['a: 1\n---\nb: [1\n', /^f\.yaml:4:1: document 2: flow sequence/],
    ['a: *b\n', /^f\.yaml:1:4: document 1: found an unknown alias/],
    ['a: &a { b: *a }\n', /^f\.yaml:1:12: document 1: found an alias inside its own anchor/],
    ['', /^f\.yaml: found no objects; expected a CustomResourceDefinition$/],
    ['kind: Pod\n---\nkind: Node\n', /^f\.yaml: found Pod, Node; expected a CustomResourceDefinition$/],
    [
      'kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\n',
      /^f\.yaml:2:13: document 1: apiVersion: found "apiextensions.k8s.io\/v1beta1"; expected "apiextensions.k8s.io\/v1"$/,
    ],
  ])('like the file %j is reported', (text, message) => {
    const [problem, ...more] = problemsOf(text)
    expect(problem).toMatch(message)
    expect(more).toEqual([])
  })

  it('is reported with all others of the file', () => {
    const one = JSON.stringify(widget({ properties: { a: { type: 'x' }, b: { type: 'y' } } }))
    const places = problemsOf(`${one}\n---\n${one}\n---\n- no\n`).map((text) => text.split(': ').slice(1, 3).join(' '))
    expect(places).toEqual([
      'document 2 spec.versions[0]',
      'document 1 spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.type',
      'document 1 spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.b.type',
    ])
  })

  it('is two kinds of one name in one file', () => {
    const [one, other] = [widget({}), widget({})]
    other.spec.group = 'other.example.com'
    expect(problemsOf(`${JSON.stringify(one)}\n---\n${JSON.stringify(other)}`)).toEqual([
      expect.stringContaining('found kind Widget of other.example.com/v1 and of example.com/v1; expected kinds with'),
    ])
  })

  it('is a version that no kind has', () => {
    expect(problemsOf(workshop, 'v7')).toEqual(['f.yaml: --version: found "v7"; expected one of v1, v1beta1, v1alpha1'])
    const unserved = widget({})
    unserved.spec.versions[0]!.served = false
    expect(problemsOf(JSON.stringify(unserved))).toEqual([
      'f.yaml: found no served version; add one to the CRD, or pass --version',
    ])
  })
})

const compile = (modules: Readonly<Record<string, string>>) =>
  compilerErrors(new Map(Object.entries(modules).map(([name, text]) => [`in-memory/${name}.ts`, text])))

const HEAD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  names: { kind: Widget, plural: widgets }
  scope: Namespaced
`

// Code of a user of the types. Marked lines must not compile.
const USE = `
import type { Record2, Widget } from './workshop.ts'
declare const metadata: Widget['metadata']
export const widget: Widget = {
  apiVersion: 'workshop.example.com/v1',
  kind: 'Widget',
  metadata,
  spec: {
    name: 'a', size: 1, 'not-declared': {}, policy: 'Never', grade: 2, label: "it's", mode: null, modes: ['fast'],
    note: null, port: 'http', ports: [1, 'http'], limit: null, grid: [[1]], maybe: { a: null }, lists: { a: ['b'] },
    parts: { a: { count: 1, next: null } }, steps: [{ tools: [{ name: 'saw' }] }], anything: 3, values: { a: [] },
    half: { known: 'x', other: 1 }, raw: { apiVersion: 'v1', kind: 'Pod', spec: {} }, empty: {}, 'dashed-name': { 'a.b/c': '' },
    pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { nodeName: 'n' } }, choice: { left: 'a' },
  },
}
// @ts-expect-error -- an enum
export const policy: Widget['spec']['policy'] = 'Sometimes'
// @ts-expect-error -- absent is not undefined
export const absent: Pick<Widget['spec'], 'weight'> = { weight: undefined }
// @ts-expect-error -- a known field of an open object
export const half: Widget['spec']['half'] = { known: 1 }
// @ts-expect-error -- required
export const part: NonNullable<Widget['spec']['parts']> = { a: {} }
// @ts-expect-error -- nothing is kept in it
export const empty: Widget['spec']['empty'] = { a: 1 }
// @ts-expect-error -- lists are not for writing
export const push = (spec: Widget['spec']) => spec.tags?.push('x')
// @ts-expect-error -- kinds of the whole cluster have no namespace
export const namespace = (object: Record2) => object.metadata.namespace.length
// @ts-expect-error -- other objects have other names
export const kind: Record2['kind'] = 'Widget'
`

/** A CRD with this schema of spec. */
function widget(spec: object) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    spec: {
      group: 'example.com',
      names: { kind: 'Widget', plural: 'widgets' },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', ...spec } } } },
        },
      ],
    },
  }
}

function textOf(source: string, version?: string): string {
  const module = crdModule(source, { file: 'workshop.yaml', version })
  if ('problems' in module) throw new Error(module.problems.map((problem) => problemText('x', problem)).join('\n'))
  return module.text
}

function problemsOf(source: string, version?: string): string[] {
  const module = crdModule(source, { file: 'f.yaml', version })
  return 'problems' in module ? module.problems.map((problem) => problemText('f.yaml', problem)) : []
}
