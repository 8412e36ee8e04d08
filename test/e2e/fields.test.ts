// Tests in a live cluster that each field has one controller, with test/support/cluster/field-audit.ts. The tests of
// the wing `chaos` audit the kinds of that wing; test/workflows/fields.test.ts compares the declarations with each
// other. Source: seeds/chaos-mesh-controller-rules.txt "One controller per field".

import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { disabledControllers } from '../../worker/server/registry.ts'
import { enabledWings } from '../../worker/server/wings.ts'
import {
  API,
  blueprintOf,
  execution,
  FINALIZER,
  installation,
  type Item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { dataObject, importingInstallation } from '../support/landscaper/imports.ts'
import { configMap, createTarget, manifestItem, TARGET_TYPE } from '../support/landscaper/manifests.ts'
import { FieldsAudit } from '../support/cluster/field-audit.ts'
import { declarations } from '../support/cluster/owned-fields.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub, untilSub } from '../support/landscaper/sub-installations.ts'
import { VersionWatch } from '../support/cluster/version-watch.ts'

const stage = useStage('fields', () => Promise.resolve({ workerFlags: ['--pickup-timeout', '2s'] }))
const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'
const CACHE = 'landscaper.gardener.cloud/cache-helm-charts'
const REASON = 'landscaper.gardener.cloud/reconcile-reason'
const PAUSED = 'landscaper.gardener.cloud/pawl-paused'
const SKIP = 'landscaper.gardener.cloud/pawl-skip'
const WHOLE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'whole', namespace: 'fields' }
const KINDS = ['installations', 'executions', 'deployitems', 'dataobjects', 'targets']
// Controllers that need a flag have their own tests: default-contexts, target-sync, and the wings outside the default.
const off = disabledControllers({})
const wings = enabledWings(undefined)
const owners = [...(await declarations())].flatMap(([folder, owner]) =>
  owner === undefined || off.has(owner.controller) || !wings.includes(folder.split('/')[0] ?? '') ? [] : [owner],
)

let watch: VersionWatch
beforeAll(async () => {
  const resources = KINDS.map((plural) => ({ apiVersion: API, plural }))
  watch = VersionWatch.start(stage.cluster, [...resources, { apiVersion: 'v1', plural: 'secrets' }])
  try {
    await course()
    await watch.upToDate()
  } finally {
    await watch.stop()
  }
})

async function course(): Promise<void> {
  await createTarget(stage.cluster)
  await createSecuredTarget()
  await Promise.all([jobs(), interrupted(), unclaimed(), standalone(), orphaned(), held()])
}

/** A Target `secured` that references a Secret. */
async function createSecuredTarget(): Promise<void> {
  const { cluster, servers } = stage
  const stringData = { kubeconfig: await readFile(servers.kubeconfigPath, 'utf8') }
  await cluster.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'access' }, stringData }, 'secrets')
  const spec = { type: TARGET_TYPE, secretRef: { name: 'access', key: 'kubeconfig' } }
  await cluster.create({ apiVersion: API, kind: 'Target', metadata: { name: 'secured' }, spec }, 'targets')
}

/** Runs a job with imports, exports and a state, a second job with another spec, and a deletion. */
async function jobs(): Promise<void> {
  const { cluster } = stage
  await cluster.create(dataObject('size', 3), 'dataobjects')
  const applied = manifestItem({
    name: 'applied',
    manifests: [configMap('whole', cluster.namespace)],
    target: 'secured',
    config: { exports: { exports: [{ key: 'late', jsonPath: '.data.late', fromResource: WHOLE }] } },
  })
  const items = (port: number): object[] => [
    { name: 'db', ...mock({ export: { port } }) },
    applied,
    ...(port === 1 ? [{ name: 'orphan', ...mock({}) }] : []),
  ]
  const blueprint = (port: number) => ({
    imports: [{ name: 'size', type: 'data', schema: { type: 'integer' } }],
    deployExecutions: [
      { name: 'items', type: 'GoTemplate', template: `${JSON.stringify({ deployItems: items(port) })}\n` },
      { name: 'kept', type: 'GoTemplate', template: 'state: {seen: {{ .imports.size }}}\ndeployItems: []' },
    ],
    exports: [
      { name: 'port', type: 'data', schema: { type: 'integer' } },
      { name: 'cluster', type: 'target', targetType: 'example.org/cluster' },
    ],
    exportExecutions: [
      {
        name: 'exports',
        type: 'GoTemplate',
        template:
          'exports:\n  port: {{ .values.deployitems.db.port }}\n  cluster: {type: example.org/cluster, config: {port: {{ .values.deployitems.db.port }}}}',
      },
    ],
  })
  const exports = {
    data: [{ name: 'port', dataRef: 'port' }],
    targets: [{ name: 'cluster', target: 'exported' }],
  }
  const imports = [{ name: 'size', dataRef: 'size' }]
  const spec = { exports, context: undefined }
  await cluster.create(importingInstallation('whole', { imports, blueprint: blueprint(1), spec }), 'installations')
  await cluster.waitUntilItems('whole', ['applied'], (item) => item?.status?.['conditions'] !== undefined)
  // The deployer sets the conditions before it applies the ConfigMap, so the patch is retried.
  const configMapPath = `/api/v1/namespaces/${WHOLE.namespace}/configmaps/${WHOLE.name}`
  const late = { body: { data: { late: 'here' } }, contentType: 'application/merge-patch+json' } as const
  await vi.waitFor(async () => await cluster.kube.request('PATCH', configMapPath, late), 60_000)
  const first = await succeeded('whole')
  const filesystem = { 'blueprint.yaml': JSON.stringify(blueprintOf([], blueprint(2))) }
  await cluster.patch('dataobjects', 'size', { data: 4 })
  await cluster.patch('installations', 'whole', {
    metadata: { annotations: { [OPERATION]: 'reconcile', [REASON]: 'another spec', [CACHE]: 'true' } },
    spec: { blueprint: { inline: { filesystem } } },
  })
  await succeeded('whole', first.status?.jobID)
  await cluster.delete('installations', 'whole')
  await cluster.waitUntilGone('whole')
}

async function succeeded(name: string, after?: string): Promise<LsObject> {
  const root = await stage.cluster.waitUntilFinished(name, after)
  if (root.status?.phase !== 'Succeeded') throw new Error(JSON.stringify(root.status))
  return root
}

/** Interrupts a job, lets another job fail, and deletes the Installation without uninstalling its items. */
async function interrupted(): Promise<void> {
  const { cluster } = stage
  const items: readonly Item[] = [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]
  await cluster.create(installation('halted', items), 'installations')
  await cluster.waitUntilItems('halted', ['slow'], (item) => item?.status?.phase === 'Progressing')
  await cluster.patch('installations', 'halted', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
  const halted = await cluster.waitUntilFinished('halted')
  // The next job removes an interrupt from an idle Execution. If the job starts before Pawl observes this interrupt,
  // the interrupt ends the job. Then the second interrupt comes too late, and the deletion job removes it.
  await cluster.patch('executions', 'halted', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
  await cluster.trigger('halted')
  await cluster.waitUntil('executions', 'halted', (one) => one?.metadata.annotations?.[OPERATION] === undefined)
  await cluster.patch('installations', 'halted', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
  await cluster.waitUntil('installations', 'halted', (root) => {
    const { jobID, jobIDFinished } = root?.status ?? {}
    return jobID === jobIDFinished && jobID !== halted.status?.jobID
  })
  await cluster.patch('installations', 'halted', { metadata: { annotations: { [WITHOUT_UNINSTALL]: 'true' } } })
  await cluster.delete('installations', 'halted')
  await cluster.waitUntilGone('halted')
}

/** Runs a job with an item that no deployer picks up. */
async function unclaimed(): Promise<void> {
  const { cluster } = stage
  await cluster.create(installation('absent', [{ name: 'alone', type: 'example.org/absent' }]), 'installations')
  await cluster.waitUntilFinished('absent')
}

/** Pauses and resumes a root while its sub-installation runs, and then skips the item of the sub-installation. */
async function held(): Promise<void> {
  const { cluster } = stage
  const pause = async (value: string | null) =>
    await cluster.patch('installations', 'held', { metadata: { annotations: { [PAUSED]: value } } })
  const below = sub('below', { blueprint: deploying(waitingItem('slow')) })
  await cluster.create(installation('held', [], { blueprint: { subinstallations: [below] } }), 'installations')
  const { metadata } = await untilSub(cluster, 'held', 'below', ({ status }) => status?.phase === 'Progressing')
  await cluster.waitUntilItems(metadata.name, ['slow'], (item) => item?.status?.phase === 'Progressing')
  await pause('true')
  await untilSub(cluster, 'held', 'below', (one) => one.metadata.annotations?.[PAUSED] !== undefined)
  await pause(null)
  await untilSub(cluster, 'held', 'below', (one) => one.metadata.annotations?.[PAUSED] === undefined)
  const slow = (await cluster.items(metadata.name)).get('slow')
  await cluster.patch('deployitems', slow?.metadata.name ?? '', { metadata: { annotations: { [SKIP]: 'true' } } })
  await succeeded('held')
}

/** Runs an Execution without a parent: it is paused, resumed, fails, has its item retried, and is deleted. */
async function standalone(): Promise<void> {
  const { cluster } = stage
  const untilTold = async (isTold: boolean) =>
    await cluster.waitUntil('executions', 'alone', (one) => (one?.status?.['paused'] !== undefined) === isTold)
  await cluster.create(execution('alone', [{ name: 'bad', config: { phase: 'Failed' } }]), 'executions')
  await cluster.patch('executions', 'alone', { metadata: { annotations: { [PAUSED]: 'true' } } })
  await untilTold(true)
  await cluster.patch('executions', 'alone', { metadata: { annotations: { [PAUSED]: null } } })
  await untilTold(false)
  await cluster.patch('executions', 'alone', { status: { jobID: 'by-hand-1' } }, 'status')
  await cluster.waitUntilFinished('alone', undefined, 'executions')
  const bad = (await cluster.items('alone')).get('bad')?.metadata.name ?? ''
  await cluster.patch('deployitems', bad, { metadata: { annotations: { [OPERATION]: 'retry' } } })
  await cluster.waitUntil('deployitems', bad, (one) => one?.metadata.annotations?.[OPERATION] === undefined)
  await cluster.waitUntilItems('alone', ['bad'], (one) => one?.status?.jobIDFinished === one?.status?.jobID)
  await cluster.deleteByHand('executions', 'alone')
  await cluster.waitUntilGone('alone', 'executions')
}

/** Deletes an item without an Execution that never had a job: Pawl gives the item a job for the deletion. */
async function orphaned(): Promise<void> {
  const { cluster } = stage
  const name = 'left'
  const spec = { type: 'landscaper.gardener.cloud/mock', config: mock({}).config }
  await cluster.create(
    { apiVersion: API, kind: 'DeployItem', metadata: { name, finalizers: [FINALIZER] }, spec },
    'deployitems',
  )
  await cluster.delete('deployitems', name)
  await cluster.waitUntilGone(name, 'deployitems')
}

function mock(config: object) {
  const apiVersion = 'mock.deployer.landscaper.gardener.cloud/v1alpha1'
  return { type: 'landscaper.gardener.cloud/mock', config: { apiVersion, kind: 'ProviderConfiguration', ...config } }
}

const audit = () => new FieldsAudit(owners, [watch], stage.pawl.db)

describe('the fields of all objects, in jobs, interrupts and deletions', () => {
  it('are held by controllers that declare them', () => {
    expect(audit().undeclaredHeld()).toEqual([])
  })

  it('are changed, and taken away, by controllers that declare them', async () => {
    expect(await audit().undeclaredChanged()).toEqual([])
    expect((await audit().changes()).length).toBeGreaterThan(100)
  })

  it('have each one maker, where a controller makes the whole object', () => {
    const makers = audit().makers()
    expect(makers.filter((managers) => managers.length > 1)).toEqual([])
    expect(makers.filter((managers) => managers.length === 1).length).toBeGreaterThan(5)
  })

  it('are all that is declared: each was written', async () => {
    expect(await audit().neverWritten()).toEqual([])
  })
})
