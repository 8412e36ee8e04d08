// Input of installations that is right, and more than usual: many items, long names, large objects, uncommon letters.
// Source: spec/landscaper.md 2.7, 2.8, 5.3.

import { describe, expect, it } from 'vitest'
import { dataObjectName } from '../../activities/landscaper/render/names.ts'
import {
  loggedProblems,
  dataImport,
  expectFailure,
  fixBlueprint,
  rendering,
  configurationProblem,
} from '../support/landscaper/bad-input.ts'
import { installation, type LsObject } from '../support/cluster/cluster.ts'
import { dataObject, importingInstallation, renderedConfig } from '../support/landscaper/imports.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('unusual-input')

const isOver = (object: LsObject | undefined) => /Succeeded|Failed/.test(object?.status?.phase ?? '')

// One after the other: each is as much as the worker can do at a time.
describe('an installation with more than usual', () => {
  const chain = Array.from({ length: 100 }, (_, index) => ({
    name: `item-${index}`,
    dependsOn: index === 0 ? [] : [`item-${index - 1}`],
  }))

  it.each([
    ['100 items in a chain', 'chain', chain],
    ['an item of the longest name', 'long-item', [{ name: 'i'.repeat(63) }]],
    ['a name as long as the webhook lets it be', 'n'.repeat(58), [{ name: 'i'.repeat(63) }]],
  ])('succeeds with %s', async (_, name, list) => {
    await stage.cluster.create(installation(name, list), 'installations')
    const done = await stage.cluster.waitUntil('installations', name, isOver, 110_000)
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
  })

  it('fails for an item that is larger than an object may be, and says which', async () => {
    const { cluster } = stage
    const template = 'deployItems: [{name: a, type: x, config: {apiVersion: v1, kind: x, a: {{ repeat 2000000 "x" }}}}]'
    await cluster.create(rendering(template)('large-item'), 'installations')
    const failed = await cluster.waitUntilFinished('large-item')
    const execution = await cluster.get('executions', 'large-item')
    expectFailure(execution, { reason: 'RequestEntityTooLarge', says: ['large-item-a', 'usually 1.5 MB'] })
    expect((await fixBlueprint(cluster, failed)).status).toMatchObject({ phase: 'Succeeded' })
  })

  it('fails for a name that no label takes, and says so', async () => {
    const { cluster } = stage
    const name = 'n'.repeat(253)
    await cluster.create(installation(name, [{ name: 'one' }]), 'installations')
    expectFailure(
      await cluster.waitUntilFinished(name),
      configurationProblem('Installation "nnn', 'metadata.name: found 253 characters; expected at most 63'),
    )
    await cluster.delete('installations', name)
    await cluster.waitUntilGone(name)
  })

  it('takes any letters in the names of imports and exports, in keys and in values', async () => {
    const { cluster } = stage
    const value = { größe: 'völlig 大きい 🚢', 'a b/c:d': ['\u2028', '\u0007', 'é'] }
    await cluster.create(dataObject('unicode', value), 'dataobjects')
    const root = importingInstallation('unicode', {
      imports: [{ name: 'größe 🚢', dataRef: 'unicode' }],
      blueprint: { imports: [dataImport('größe 🚢', {})] },
      spec: {
        exports: { data: [{ name: 'ausfuhr ü', dataRef: 'Ausfuhr ü 🚢' }] },
        exportDataMappings: { 'ausfuhr ü': '(( 1 + 1 ))' },
      },
    })
    await cluster.create(root, 'installations')
    const done = await cluster.waitUntilFinished('unicode')
    expect(done.status).toMatchObject({ phase: 'Succeeded' })
    expect(await renderedConfig(cluster, 'unicode', 'show')).toEqual({ 'größe 🚢': value })
    const exported = await cluster.get('dataobjects', dataObjectName('', 'Ausfuhr ü 🚢'))
    expect(exported?.['data']).toBe(2)
  })

  it('uses the first of two YAML documents, and an Event names the text with the other one', async () => {
    const { cluster } = stage
    const template = `deployItems: []\n---\ndeployItems: [{ name: ignored }]\n`
    await cluster.create(rendering(template)('two-documents'), 'installations')
    expect((await cluster.waitUntilFinished('two-documents')).status).toMatchObject({ phase: 'Succeeded' })
    const events = (await cluster.list('events', 'v1')) as readonly { reason?: string; message?: string }[]
    const messages = events.filter(({ reason }) => reason === 'FurtherDocuments').map(({ message }) => message)
    expect(messages).toEqual([expect.stringMatching(/^template "items": found more than one YAML document/)])
  })

  it('fails when its exports are larger than an object may be', async () => {
    const { cluster } = stage
    const template = 'exports: {large: {{ repeat 2000000 "x" }}}'
    const root = importingInstallation('large-export', {
      blueprint: {
        exports: [dataImport('large', {})],
        exportExecutions: [{ name: 'out', type: 'GoTemplate', template }],
      },
      spec: { exports: { data: [{ name: 'large', dataRef: 'large' }] } },
    })
    await cluster.create(root, 'installations')
    const failed = await cluster.waitUntilFinished('large-export')
    expectFailure(failed, { reason: 'RequestEntityTooLarge', says: ['DataObject "large":', 'usually 1.5 MB'] })
    expect((await fixBlueprint(cluster, failed)).status).toMatchObject({ phase: 'Succeeded' })
  })
})

describe('a worker after all of this', () => {
  it('is the process that it was, and has no complaint', () => {
    expect(stage.pawl.child('worker').exitCode).toBeNull()
    expect([...loggedProblems(stage.pawl, 'worker'), ...loggedProblems(stage.pawl, 'bridge')]).toEqual([])
  })
})
