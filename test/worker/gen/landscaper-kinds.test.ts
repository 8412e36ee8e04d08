// The kinds have the wire format of the original controllers. Source: spec/landscaper.md 1, table of CRDs.

import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { readKindFolders } from '../../../worker/server/kind-folders.ts'
import { type JsonSchema, type Kind, openApiSchema, projectObject } from '../../../workflows/kit/index.ts'

const folders = await readKindFolders(join(import.meta.dirname, '../../..'))
const kinds = folders.flatMap((folder) => folder.kinds).filter(({ group }) => group === 'landscaper.gardener.cloud')

describe('the kinds of the landscaper group', () => {
  it.each([
    ['Installation', 'installations', 'inst', true, 'Phase Execution Age', ['spec']],
    ['Execution', 'executions', 'exec', true, 'Phase ExportRef Age', ['spec']],
    ['DeployItem', 'deployitems', 'di', true, 'Type Phase ExportRef Age', ['spec']],
    ['Target', 'targets', 'tgt tg', false, 'Type Context Key Idx TMKey Age', ['spec']],
    ['DataObject', 'dataobjects', 'dobj do', false, 'Context Key Age', ['data']],
    ['Context', 'contexts', 'ctx', false, 'Age', undefined],
    ['ComponentVersionOverwrites', 'componentversionoverwrites', 'compveroverwrite cvo', false, '', undefined],
    ['TargetSync', 'targetsyncs', 'tgs', true, '', ['spec']],
    [
      'LsHealthCheck',
      'lshealthchecks',
      'lshc',
      false,
      'Status LastUpdateTime',
      ['status', 'lastUpdateTime', 'description'],
    ],
    ['CriticalProblems', 'criticalproblems', 'cps', true, '', ['spec']],
    ['SyncObject', 'syncobjects', 'so', true, 'PodName Kind Name', ['spec']],
  ])('include %s with the names, columns and required fields of the original CRD', (name, ...expected) => {
    const kind = kinds.find((candidate) => candidate.kind === name)!
    expect(kind.apiVersion).toBe('landscaper.gardener.cloud/v1alpha1')
    expect([
      kind.plural,
      kind.shortNames.join(' '),
      kind.statusSubresource,
      shownColumns(kind, 0),
      openApiSchema(kind).required,
    ]).toEqual(expected)
  })

  it('show the last error with -o wide if the kind has a last error', () => {
    expect(
      kinds.flatMap((kind) =>
        shownColumns(kind, 1) === '' ? [] : [[kind.kind, shownColumns(kind, 1).split(' ').at(-1)]],
      ),
    ).toEqual([...kinds].filter(hasLastError).map((kind) => [kind.kind, 'Error']))
  })

  it('show the column Waiting with -o wide only for DeployItem and Execution', () => {
    const waiting = kinds.filter((kind) => shownColumns(kind, 1).includes('Waiting')).map(({ kind }) => kind)
    expect(waiting.sort()).toEqual(['DeployItem', 'Execution'])
  })

  it('have no enums in their schemas', () => {
    expect(kinds.filter((kind) => JSON.stringify(openApiSchema(kind)).includes('"enum"'))).toEqual([])
  })

  it.each(kinds.map((kind) => [kind.kind, kind] as const))('do not project user content of %s', (_, kind) => {
    const projected = JSON.stringify(projectObject(filled(kind), kind.projection))
    expect(projected).not.toContain(CANARY)
    expect(projected).toContain('"name":"known"')
  })
})

const shownColumns = (kind: Kind, priority: number) =>
  kind.printerColumns
    .filter((column) => (column.priority ?? 0) === priority)
    .map((column) => column.name)
    .join(' ')

const hasLastError = (kind: Kind) => openApiSchema(kind).properties?.['status']?.properties?.['lastError'] !== undefined

const CANARY = 'canary-b3f1'

// An object of the kind with the canary wherever a user may write anything: in configurations, values and contents.
function filled(kind: Kind): object {
  const body = Object.fromEntries(
    Object.entries(kind.schema).map(([name, { schema }]) => [name, example(schema, isFreeText(name))]),
  )
  return { ...body, metadata: { name: 'known', annotations: { 'x/y': CANARY }, labels: { 'x/y': CANARY } } }
}

const isFreeText = (name: string) => !['spec', 'status'].includes(name)

/** Lists of references, as `executionRef` is one. */
const NAMED = new Set(['dependentsToTrigger'])

function example(schema: JsonSchema, free: boolean): unknown {
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return { nested: CANARY }
  if (schema.items !== undefined) return [example(schema.items, true)]
  if (schema.additionalProperties !== undefined) return { key: example(schema.additionalProperties, true) }
  if (schema.properties !== undefined) {
    const fill = (name: string, child: JsonSchema) => (NAMED.has(name) ? [{ name: 'plain' }] : example(child, free))
    return Object.fromEntries(Object.entries(schema.properties).map(([name, child]) => [name, fill(name, child)]))
  }
  if (schema.format === 'byte') return CANARY
  return schema.type === 'string' && free ? CANARY : 'plain'
}
