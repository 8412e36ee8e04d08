// Exports of items and Installations: the Execution's DataObject, and the DataObjects and Targets of the Installation.
// Source: spec/landscaper.md 1.15, 2.3 "Completing", 2.7 "Completing".

import { describe, expect, it } from 'vitest'
import { dataObjectName } from '../../activities/landscaper/render/names.ts'
import { API, installation, type Item } from '../support/cluster/cluster.ts'
import { dataObject, importingInstallation, target, TARGET_TYPE } from '../support/landscaper/imports.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('exports')
// Kubernetes' garbage collector; while CRDs come and go, as other tests make them, it looks at nothing for a while.
const COLLECTED_MS = 120_000

const ITEMS: readonly Item[] = [
  { name: 'db', config: { export: { port: 5432, host: 'db.example.org' } } },
  { name: 'app', dependsOn: ['db'] },
]
const TEMPLATE = `
exports:
  address: {{ .values.deployitems.db.host }}:{{ .values.deployitems.db.port }}
  cluster:
    type: example.org/cluster
    labels: { team: a }
    config: { server: https://{{ .values.deployitems.db.host }} }`
const BLUEPRINT = {
  exports: [
    { name: 'address', type: 'data', schema: { type: 'string' } },
    { name: 'cluster', type: 'target', targetType: 'example.org/cluster' },
  ],
  exportExecutions: [{ name: 'exports', type: 'GoTemplate', template: TEMPLATE }],
}

function exporting(name: string, items = ITEMS) {
  const exports = {
    data: [{ name: 'address', dataRef: `${name}-address` }],
    targets: [{ name: 'cluster', target: `${name}-cluster` }],
  }
  return installation(name, items, { blueprint: BLUEPRINT, spec: { exports } })
}

/** Exports a target with these fields. */
function exportingTarget(name: string, fields: object) {
  const cluster = { type: 'example.org/cluster', ...fields }
  const exportExecutions = [{ name: 'out', type: 'GoTemplate', template: JSON.stringify({ exports: { cluster } }) }]
  const exports = [{ name: 'cluster', type: 'target', targetType: 'example.org/cluster' }]
  const targets = [{ name: 'cluster', target: `${name}-cluster` }]
  return installation(name, [], {
    blueprint: { exports, exportExecutions },
    spec: { exports: { data: [], targets } },
  })
}

async function run(name: string) {
  await stage.cluster.create(exporting(name), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

/** The DataObject in which an Execution collects what its items export. */
async function collectedOf(execution: string) {
  const { status } = (await stage.cluster.get('executions', execution)) ?? {}
  return await stage.cluster.get('dataobjects', status?.exportRef?.name ?? '')
}

/** A reference to an Installation that is there. */
async function ownedBy(name: string) {
  const { metadata } = await stage.cluster.create(installation(name, [], { triggered: false }), 'installations')
  return { apiVersion: API, kind: 'Installation', name, uid: metadata.uid, controller: true }
}

describe.concurrent('an installation that exports', () => {
  it('publishes a DataObject and a Target that it owns, and its execution collects what the items export', async () => {
    const { cluster } = stage
    const root = await run('producer')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })

    const collected = await collectedOf('producer')
    expect(collected?.['data']).toEqual({ db: { port: 5432, host: 'db.example.org' } })
    expect(collected?.metadata.labels).toMatchObject({
      'data.landscaper.gardener.cloud/context': 'Exec.producer',
      'data.landscaper.gardener.cloud/sourceType': 'export',
    })

    const owned = {
      labels: {
        'data.landscaper.gardener.cloud/sourceType': 'export',
        'data.landscaper.gardener.cloud/source': 'Inst.producer',
        'data.landscaper.gardener.cloud/jobid': root.status?.jobID,
      },
      ownerReferences: [{ kind: 'Installation', name: 'producer', uid: root.metadata.uid, controller: true }],
    }
    const address = await cluster.get('dataobjects', 'producer-address')
    expect(address?.['data']).toBe('db.example.org:5432')
    expect(address?.metadata).toMatchObject(owned)
    const target = await cluster.get('targets', 'producer-cluster')
    expect(target?.spec).toEqual({ type: 'example.org/cluster', config: { server: 'https://db.example.org' } })
    expect(target?.metadata).toMatchObject(owned)
    expect(target?.metadata.labels).toMatchObject({ team: 'a' })
  })

  it('publishes a Target with only a type, and removes the configuration of the previous job', async () => {
    const { cluster } = stage
    const first = await run('bare')
    expect((await cluster.get('targets', 'bare-cluster'))?.spec).toHaveProperty('config')
    await cluster.patch('installations', 'bare', exportingTarget('bare', { config: null, secretRef: null }))
    const second = await cluster.waitUntilFinished('bare', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const found = await cluster.get('targets', 'bare-cluster')
    expect(found?.spec).toEqual({ type: 'example.org/cluster' })
    expect(found?.metadata.ownerReferences).toMatchObject([{ name: 'bare' }])
  })

  it('deletes its exports when a job fails, and creates them again in the next job', async () => {
    const { cluster } = stage
    const first = await run('failing')
    // Said to be of it, by a hand that owns it.
    const labels = (await cluster.get('dataobjects', 'failing-address'))?.metadata.labels ?? {}
    const theirs = { apiVersion: API, kind: 'DataObject', metadata: { name: 'theirs', labels }, data: 1 }
    await cluster.create(theirs, 'dataobjects')
    const bad = { name: 'db', config: { phase: 'Failed' } }
    await cluster.patch('installations', 'failing', exporting('failing', [bad]))
    const failed = await cluster.waitUntilFinished('failing', first.status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.get('dataobjects', 'failing-address')).toBeUndefined()
    expect(await cluster.get('targets', 'failing-cluster')).toBeUndefined()
    expect(await cluster.get('dataobjects', 'theirs')).toBeDefined()
    await cluster.patch('installations', 'failing', exporting('failing'))
    await cluster.waitUntilFinished('failing', failed.status?.jobID)
    expect((await cluster.get('dataobjects', 'failing-address'))?.['data']).toBe('db.example.org:5432')
    expect(await cluster.get('targets', 'failing-cluster')).toBeDefined()
  })

  it('deletes the exports of a job that fails for another export', async () => {
    const { cluster } = stage
    await cluster.create(target('taken'), 'targets')
    await cluster.patch('targets', 'taken', { metadata: { ownerReferences: [await ownedBy('somebody')] } })
    const root = exporting('half')
    const targets = [{ name: 'cluster', target: 'taken' }]
    const spec = { ...root.spec, exports: { data: [{ name: 'address', dataRef: 'half-address' }], targets } }
    await cluster.create({ ...root, spec }, 'installations')
    const failed = await cluster.waitUntilFinished('half')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'ExportConflict' } })
    expect(conditionOf(failed, 'CreateExports')).toMatchObject({ status: 'False', reason: 'CreateTargets' })
    expect(await cluster.get('dataobjects', 'half-address')).toBeUndefined()
  })

  it('is deleted with its exports', async () => {
    const { cluster } = stage
    await run('leaving')
    const collected = await collectedOf('leaving')
    await cluster.delete('installations', 'leaving')
    await cluster.waitUntilGone('leaving')
    await cluster.waitUntilGone('leaving-address', 'dataobjects', COLLECTED_MS)
    await cluster.waitUntilGone('leaving-cluster', 'targets', COLLECTED_MS)
    await cluster.waitUntilGone(collected?.metadata.name ?? '', 'dataobjects', COLLECTED_MS)
  }, 300_000)
})

describe.concurrent('an export that cannot be published', () => {
  it('fails the job when the name belongs to another installation', async () => {
    const { cluster } = stage
    await run('owner')
    const data = [{ name: 'address', dataRef: 'owner-address' }]
    const thief = installation('thief', ITEMS, { blueprint: BLUEPRINT, spec: { exports: { data } } })
    await cluster.create(thief, 'installations')
    const failed = await cluster.waitUntilFinished('thief')
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseCompleting',
        reason: 'ExportConflict',
        message: 'DataObject owner-address belongs to Installation owner; expected no owner or Installation thief',
      },
    })
    expect((await cluster.get('dataobjects', 'owner-address'))?.metadata.ownerReferences).toMatchObject([
      { name: 'owner' },
    ])
  })

  it('adopts an object of its name that has no owner', async () => {
    const { cluster } = stage
    const metadata = { name: 'adopter-address' }
    await cluster.create({ apiVersion: API, kind: 'DataObject', metadata, data: 'by hand' }, 'dataobjects')
    expect((await run('adopter')).status).toMatchObject({ phase: 'Succeeded' })
    expect((await cluster.get('dataobjects', 'adopter-address'))?.['data']).toBe('db.example.org:5432')
  })
})

describe.concurrent('an installation that imports and exports', () => {
  const EXECUTION = `
state: { count: {{ add1 (default 0 .state.count) }} }
exports:
  size: {{ .imports.size }}
  both: {{ .dataobjects.size }}-{{ .values.dataobjects.size }}
  token: {{ .targets.cluster.spec.config.token }}-{{ (index .values.targets.clusters 0).spec.config.token }}
  count: {{ add1 (default 0 .state.count) }}
  undeclared: dropped`
  const text = (name: string) => ({ name, type: 'data', schema: { type: ['string', 'integer'] } })
  const of = (name: string, type: string) => ({ name, type, targetType: TARGET_TYPE })

  function passing(name: string) {
    const names = ['size', 'both', 'token', 'count', 'mapped', 'größe']
    return importingInstallation(name, {
      imports: [{ name: 'size', dataRef: 'passing-size' }],
      targets: [
        { name: 'cluster', target: 'passing-cluster' },
        { name: 'clusters', targets: ['passing-cluster'] },
      ],
      blueprint: {
        imports: [text('size'), of('cluster', 'target'), of('clusters', 'targetList')],
        exports: ['size', 'both', 'token', 'count'].map(text),
        exportExecutions: [{ name: 'out', type: 'GoTemplate', template: EXECUTION }],
      },
      spec: {
        exports: { data: names.map((one) => ({ name: one, dataRef: `${name}-${one}` })) },
        exportDataMappings: {
          mapped: '(( size "-" exports.count ))',
          größe: { constant: true },
          both: '(( both "!" ))',
        },
      },
    })
  }
  const published = async (name: string, exported: string) =>
    (await stage.cluster.get('dataobjects', dataObjectName('', `${name}-${exported}`)))?.['data']

  it('exports its imports through mappings, and counts in its state', async () => {
    const { cluster } = stage
    await cluster.create(dataObject('passing-size', 5), 'dataobjects')
    await cluster.create(target('passing-cluster'), 'targets')
    await cluster.create(passing('passing'), 'installations')
    const first = await cluster.waitUntilFinished('passing')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const names = ['size', 'both', 'token', 'count', 'mapped', 'größe']
    const found = await Promise.all(names.map(async (one) => [one, await published('passing', one)]))
    const token = 't-passing-cluster'
    expect(Object.fromEntries(found)).toEqual({
      size: 5,
      both: '5-5!',
      token: `${token}-${token}`,
      count: 1,
      mapped: '5-1',
      größe: { constant: true },
    })

    await cluster.trigger('passing')
    await cluster.waitUntilFinished('passing', first.status?.jobID)
    expect(await published('passing', 'count')).toBe(2)
  })

  it('fails when an export does not match the schema, with every mismatch', async () => {
    const { cluster } = stage
    const exports = { data: [{ name: 'size', dataRef: 'mismatch-size' }] }
    const schema = { type: 'object', required: ['a'], properties: { b: { type: 'string' } } }
    const blueprint = {
      exports: [{ name: 'size', type: 'data', schema }],
      exportExecutions: [{ name: 'out', type: 'Spiff', template: { exports: { size: { b: 1 } } } }],
    }
    await cluster.create(importingInstallation('mismatch', { blueprint, spec: { exports } }), 'installations')
    const { status } = await cluster.waitUntilFinished('mismatch')
    expect(status).toMatchObject({ phase: 'Failed', lastError: { reason: 'SchemaValidationFailed' } })
    expect(status?.lastError?.message).toMatch(/export size: .*required.*export size: at \/b: type/)
    expect(await cluster.get('dataobjects', 'mismatch-size')).toBeUndefined()
  })
})
