// What items export becomes data for others: the Execution's DataObject, and the DataObjects and Targets of the Installation.
// Source: spec/landscaper.md 1.15, 2.3 "Completing", 2.7 "Completing".

import { describe, expect, it } from 'vitest'
import { API, installation, type Item } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'

const stage = useStage('exports')

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

async function run(name: string) {
  await stage.cluster.create(exporting(name), 'installations')
  return await stage.cluster.finished(name)
}

/** The DataObject in which an Execution collects what its items export. */
async function collectedOf(execution: string) {
  const { status } = (await stage.cluster.get('executions', execution)) ?? {}
  return await stage.cluster.get('dataobjects', status?.exportRef?.name ?? '')
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

  it('changes what it published when the next job produces something else', async () => {
    const { cluster } = stage
    const first = await run('changing')
    const moved = { name: 'db', config: { export: { port: 5433, host: 'db.example.org' } } }
    await cluster.patch('installations', 'changing', exporting('changing', [moved]))
    const second = await cluster.finished('changing', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const address = await cluster.get('dataobjects', 'changing-address')
    expect(address?.['data']).toBe('db.example.org:5433')
    expect(address?.metadata.labels?.['data.landscaper.gardener.cloud/jobid']).toBe(second.status?.jobID)
  })

  it('loses what it published with its deletion', async () => {
    const { cluster } = stage
    await run('leaving')
    const collected = await collectedOf('leaving')
    await cluster.delete('installations', 'leaving')
    await cluster.gone('leaving')
    await cluster.gone('leaving-address', 'dataobjects')
    await cluster.gone('leaving-cluster', 'targets')
    await cluster.gone(collected?.metadata.name ?? '', 'dataobjects')
  })
})

describe.concurrent('an export that cannot be published', () => {
  it('fails the job when the name belongs to another installation', async () => {
    const { cluster } = stage
    await run('owner')
    const data = [{ name: 'address', dataRef: 'owner-address' }]
    const thief = installation('thief', ITEMS, { blueprint: BLUEPRINT, spec: { exports: { data } } })
    await cluster.create(thief, 'installations')
    const failed = await cluster.finished('thief')
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

  it('takes over an object of its name that nobody owns', async () => {
    const { cluster } = stage
    const metadata = { name: 'adopter-address' }
    await cluster.create({ apiVersion: API, kind: 'DataObject', metadata, data: 'by hand' }, 'dataobjects')
    expect((await run('adopter')).status).toMatchObject({ phase: 'Succeeded' })
    expect((await cluster.get('dataobjects', 'adopter-address'))?.['data']).toBe('db.example.org:5432')
  })

  it('fails the job when no execution of the blueprint produces it', async () => {
    const { cluster } = stage
    const data = [{ name: 'nothing', dataRef: 'nothing' }]
    const root = installation('unproduced', ITEMS, { blueprint: BLUEPRINT, spec: { exports: { data } } })
    await cluster.create(root, 'installations')
    const failed = await cluster.finished('unproduced')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'ExportNotProduced' } })
    expect(failed.status?.lastError?.message).toContain('export nothing')
  })
})
