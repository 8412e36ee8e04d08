// Imports and exports of a root Installation over its jobs: copies of imports, edits of imports during a job, the state
// of templates, the number of writes, and the exported objects until they are deleted.
// Source: spec/landscaper.md 1.15, 2.3 "Init" 10 and "Completing", 2.7 "Completing", 3.6 "State".

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataObjectName, installationContext, stateSecretName } from '../../activities/landscaper/render/names.ts'
import { auditedWrites, auditMark } from '../support/cluster/audit-log.ts'
import { API, failingItem, installation, type Item, item, type LsObject } from '../support/cluster/cluster.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import {
  dataObject,
  importingInstallation,
  mockItems,
  renderedConfig,
  secret,
  target,
  TARGET_TYPE,
} from '../support/landscaper/imports.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('imports-exports')
const HELD_TYPE = 'example.org/held'
const MANAGED_BY = 'execution.landscaper.gardener.cloud/managed-by'

/** Names of Executions whose items stay in Progressing. */
const held = new Set<string>()
let deployer: Deployer

beforeAll(() => {
  const isHeld = ({ metadata }: LsObject) => held.has(metadata.labels?.[MANAGED_BY] ?? '')
  deployer = Deployer.start(stage.cluster, HELD_TYPE, { install: (one) => (isHeld(one) ? 'wait' : 'done') })
})
afterAll(async () => {
  await deployer.stop()
})

const anything = (name: string, more: object = {}) => ({ name, type: 'data', schema: {}, ...more })
const copyOf = async (installation: string, name: string, plural = 'dataobjects') =>
  await stage.cluster.get(plural, dataObjectName(installationContext(installation), name))

/** Imports the data `<name>-size` and the target `<name>-cluster`, whose configuration is in the Secret `<name>-access`. */
function holding(name: string) {
  const deployItems = [item({ name: 'held', type: HELD_TYPE, config: { size: '{{ .imports.size }}' } })]
  return importingInstallation(name, {
    imports: [{ name: 'size', dataRef: `${name}-size` }],
    targets: [{ name: 'cluster', target: `${name}-cluster` }],
    blueprint: {
      imports: [anything('size'), { name: 'cluster', type: 'target', targetType: TARGET_TYPE }],
      deployExecutions: [{ name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
    },
  })
}

/** Starts the job and returns while its item is held. */
async function start(name: string): Promise<void> {
  const { cluster } = stage
  held.add(name)
  await cluster.create(dataObject(`${name}-size`, 1), 'dataobjects')
  await cluster.create(secret(`${name}-access`, { kubeconfig: 'a' }), 'secrets')
  const access = { type: TARGET_TYPE, secretRef: { name: `${name}-access` } }
  await cluster.create(target(`${name}-cluster`, access), 'targets')
  await cluster.create(holding(name), 'installations')
  await cluster.waitUntilItems(name, ['held'], (one) => one?.status?.phase === 'Progressing')
  await cluster.waitUntil('installations', name, (object) => object?.status?.phase === 'Progressing')
}

async function end(name: string): Promise<LsObject> {
  held.delete(name)
  return await stage.cluster.waitUntilFinished(name)
}

async function again(name: string, before: LsObject): Promise<LsObject> {
  await stage.cluster.trigger(name)
  return await stage.cluster.waitUntilFinished(name, before.status?.jobID)
}

describe.concurrent('a job that runs while', () => {
  const edits: readonly (readonly [
    string,
    (name: string) => Promise<unknown>,
    string,
    (name: string) => Promise<unknown>,
  ])[] = [
    [
      'the Secret of its Target is edited',
      async (name) => {
        const { kube, namespace } = stage.cluster
        const path = `/api/v1/namespaces/${namespace}/secrets/${name}-access`
        const body = { stringData: { kubeconfig: 'b' } }
        await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
      },
      'CheckImportsHash',
      () => Promise.resolve(),
    ],
    [
      'its DataObject is deleted',
      async (name) => await stage.cluster.delete('dataobjects', `${name}-size`),
      'ImportNotFound',
      async (name) => await stage.cluster.create(dataObject(`${name}-size`, 3), 'dataobjects'),
    ],
  ]

  it.each(edits)('%s fails, and the next job uses the new imports', async (title, edit, reason, fix) => {
    const name = title.replaceAll(' ', '-').toLowerCase()
    await start(name)
    await edit(name)
    const failed = await end(name)
    const lastError = { operation: 'handlePhaseCompleting', reason }
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError })
    await fix(name)
    const next = await again(name, failed)
    expect(next.status).toMatchObject({ phase: 'Succeeded' })
    expect(next.status?.['importsHash']).not.toBe(failed.status?.['importsHash'])
  })

  it('labels of its imports change succeeds', async () => {
    const { cluster } = stage
    await start('labelled')
    const labels = { metadata: { labels: { seen: 'yes' } } }
    await cluster.patch('dataobjects', 'labelled-size', labels)
    await cluster.patch('targets', 'labelled-cluster', labels)
    expect((await end('labelled')).status).toMatchObject({ phase: 'Succeeded' })
  })
})

describe.concurrent('an installation that runs again', () => {
  it('deletes the copy of a removed import, and the hash with the last import', async () => {
    const { cluster } = stage
    for (const name of ['gone-a', 'gone-b']) await cluster.create(dataObject(name, name), 'dataobjects')
    await cluster.create(target('gone-t'), 'targets')
    const optional = { required: false }
    const there = { name: 't', type: 'target', targetType: TARGET_TYPE, ...optional }
    const blueprint = { imports: [anything('a', optional), anything('b', optional), there] }
    const both = ['a', 'b'].map((name) => ({ name, dataRef: `gone-${name}` }))
    const targets = [{ name: 't', target: 'gone-t' }]
    await cluster.create(importingInstallation('gone', { imports: both, targets, blueprint }), 'installations')
    const first = await cluster.waitUntilFinished('gone')
    const kept = await copyOf('gone', 'a')
    expect([kept?.['data'], (await copyOf('gone', 'b'))?.['data']]).toEqual(['gone-a', 'gone-b'])
    expect(await copyOf('gone', 't', 'targets')).toMatchObject({ spec: target('gone-t').spec })

    await cluster.patch('installations', 'gone', { spec: { imports: { data: both.slice(0, 1), targets: null } } })
    const second = await again('gone', first)
    expect(await renderedConfig(cluster, 'gone', 'show')).toEqual({ a: 'gone-a' })
    expect(await copyOf('gone', 'b')).toBeUndefined()
    expect(await copyOf('gone', 't', 'targets')).toBeUndefined()
    expect(await copyOf('gone', 'a')).toEqual(kept)

    await cluster.patch('installations', 'gone', { spec: { imports: null } })
    const third = await again('gone', second)
    expect(third.status).toMatchObject({ phase: 'Succeeded' })
    expect(third.status).not.toHaveProperty('importsHash')
    expect(await copyOf('gone', 'a')).toBeUndefined()
  })

  it('keeps the password that its template generated, until its state is deleted', async () => {
    const { cluster } = stage
    const template = `
{{- $password := .state.password | default (randAlphaNum 20) }}
state: { password: {{ $password }} }
deployItems: ${JSON.stringify(mockItems({ password: '{{ $password }}' }))}`
    const blueprint = { deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
    await cluster.create(importingInstallation('stateful', { blueprint }), 'installations')
    const first = await cluster.waitUntilFinished('stateful')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const password = (await renderedConfig(cluster, 'stateful', 'show')) as { password: string }
    expect(password.password).toMatch(/^[A-Za-z0-9]{20}$/)

    const name = stateSecretName('stateful', 'deploy', 'items')
    const kept = await cluster.get('secrets', name, 'v1')
    const { config = '' } = kept?.['data'] as { config?: string }
    expect(JSON.parse(Buffer.from(config, 'base64').toString())).toEqual(password)
    expect(kept?.metadata.ownerReferences).toMatchObject([{ kind: 'Installation', name: 'stateful', controller: true }])

    const second = await again('stateful', first)
    expect(await renderedConfig(cluster, 'stateful', 'show')).toEqual(password)
    expect((await cluster.get('secrets', name, 'v1'))?.metadata.resourceVersion).toBe(kept?.metadata.resourceVersion)

    await cluster.kube.request('DELETE', `/api/v1/namespaces/${cluster.namespace}/secrets/${name}`)
    await again('stateful', second)
    expect(await renderedConfig(cluster, 'stateful', 'show')).not.toEqual(password)
  })
})

describe('the writes of an installation with imports', () => {
  it('are six plus one per import in the first job, six for the same imports, plus one per changed import', async () => {
    const { cluster, servers } = stage
    const names = ['budget-a', 'budget-b', 'budget-c']
    for (const name of names) await cluster.create(dataObject(name, name), 'dataobjects')
    const written = async (job: () => Promise<LsObject>) => {
      const mark = auditMark(servers.auditLogPath)
      const { status } = await job()
      expect(status).toMatchObject({ phase: 'Succeeded' })
      const writes = auditedWrites(servers.auditLogPath, mark, cluster.namespace)
      return writes.filter(({ writer }) => writer === 'installation').length
    }
    const imports = names.map((name) => ({ name, dataRef: name }))
    const root = importingInstallation('budget', {
      imports,
      blueprint: { imports: names.map((name) => anything(name)) },
    })
    let last: LsObject = { apiVersion: API, metadata: { name: 'budget' } }
    const first = await written(async () => {
      await cluster.create(root, 'installations')
      return (last = await cluster.waitUntilFinished('budget'))
    })
    const same = await written(async () => (last = await again('budget', last)))
    await cluster.patch('dataobjects', 'budget-b', { data: 'changed' })
    const changed = await written(async () => (last = await again('budget', last)))
    expect(first).toBeLessThanOrEqual(6 + names.length)
    expect(same).toBeLessThanOrEqual(6)
    expect(changed).toBeLessThanOrEqual(6 + 1)
  })
})

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

/** An Installation whose exported Target has only a type. */
function exportingType(name: string) {
  const cluster = { type: 'example.org/cluster', config: null, secretRef: null }
  const exportExecutions = [{ name: 'out', type: 'GoTemplate', template: JSON.stringify({ exports: { cluster } }) }]
  const spec = { exports: { data: [], targets: [{ name: 'cluster', target: `${name}-cluster` }] } }
  return installation(name, [], { blueprint: { exports: BLUEPRINT.exports.slice(1), exportExecutions }, spec })
}

const exportedBy = async (name: string) => [
  (await stage.cluster.get('dataobjects', `${name}-address`))?.['data'],
  (await stage.cluster.get('targets', `${name}-cluster`))?.spec,
]
const CLUSTER = { type: 'example.org/cluster', config: { server: 'https://db.example.org' } }

describe.concurrent('an installation that exports', () => {
  it('publishes objects that it owns, adopts one without an owner, and is deleted with its exports', async () => {
    const { cluster } = stage
    await cluster.create(dataObject('producer-address', 'of a user'), 'dataobjects')
    await cluster.create(exporting('producer'), 'installations')
    const { metadata, status } = await cluster.waitUntilFinished('producer')
    expect(status).toMatchObject({ phase: 'Succeeded' })
    expect(await exportedBy('producer')).toEqual(['db.example.org:5432', CLUSTER])
    const owned = {
      labels: {
        'data.landscaper.gardener.cloud/sourceType': 'export',
        'data.landscaper.gardener.cloud/source': 'Inst.producer',
        'data.landscaper.gardener.cloud/jobid': status?.jobID,
      },
      ownerReferences: [{ kind: 'Installation', name: 'producer', uid: metadata.uid, controller: true }],
    }
    expect((await cluster.get('dataobjects', 'producer-address'))?.metadata).toMatchObject(owned)
    const { labels } = owned
    expect((await cluster.get('targets', 'producer-cluster'))?.metadata).toMatchObject({
      ...owned,
      labels: { ...labels, team: 'a' },
    })
    const execution = await cluster.get('executions', 'producer')
    const collected = await cluster.get('dataobjects', execution?.status?.exportRef?.name ?? '')
    expect(collected).toMatchObject({
      data: { db: { port: 5432, host: 'db.example.org' } },
      metadata: {
        labels: {
          'data.landscaper.gardener.cloud/context': 'Exec.producer',
          'data.landscaper.gardener.cloud/sourceType': 'export',
        },
      },
    })

    await cluster.delete('installations', 'producer')
    await cluster.waitUntilGone('producer')
    await cluster.waitUntilGone('producer-address', 'dataobjects', COLLECTED_MS)
    await cluster.waitUntilGone('producer-cluster', 'targets', COLLECTED_MS)
    await cluster.waitUntilGone(collected?.metadata.name ?? '', 'dataobjects', COLLECTED_MS)
  }, 300_000)

  it('deletes the exports of a failed job, creates them again, and removes the configuration of a Target that has only a type now', async () => {
    const { cluster } = stage
    await cluster.create(exporting('failing'), 'installations')
    const first = await cluster.waitUntilFinished('failing')
    // An object of a user, with the labels of an export.
    const labels = (await cluster.get('dataobjects', 'failing-address'))?.metadata.labels ?? {}
    const theirs = dataObject('theirs', 1)
    await cluster.create({ ...theirs, metadata: { ...theirs.metadata, labels } }, 'dataobjects')
    await cluster.patch('installations', 'failing', exporting('failing', [failingItem('db')]))
    const failed = await cluster.waitUntilFinished('failing', first.status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(await exportedBy('failing')).toEqual([undefined, undefined])
    expect(await cluster.get('dataobjects', 'theirs')).toBeDefined()
    await cluster.patch('installations', 'failing', exporting('failing'))
    const second = await cluster.waitUntilFinished('failing', failed.status?.jobID)
    expect(await exportedBy('failing')).toEqual(['db.example.org:5432', CLUSTER])
    await cluster.patch('installations', 'failing', exportingType('failing'))
    await cluster.waitUntilFinished('failing', second.status?.jobID)
    expect((await cluster.get('targets', 'failing-cluster'))?.spec).toEqual({ type: 'example.org/cluster' })
  })

  it('fails when another installation owns the name of an export, and deletes its other exports', async () => {
    const { cluster } = stage
    const { metadata } = await cluster.create(installation('owner', [], { triggered: false }), 'installations')
    const { uid = '' } = metadata
    const owner = { apiVersion: API, kind: 'Installation', name: 'owner', uid, controller: true }
    const taken = target('half-cluster')
    await cluster.create({ ...taken, metadata: { ...taken.metadata, ownerReferences: [owner] } }, 'targets')
    await cluster.create(exporting('half'), 'installations')
    const failed = await cluster.waitUntilFinished('half')
    const message =
      'Target "half-cluster": found owner Installation "owner"; expected no owner or Installation "half"; rename the import or export, or delete the object'
    const lastError = { operation: 'handlePhaseCompleting', reason: 'ExportConflict', message }
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError })
    expect(conditionOf(failed, 'CreateExports')).toMatchObject({ status: 'False', reason: 'CreateTargets' })
    expect(await exportedBy('half')).toEqual([undefined, taken.spec])
  })
})
