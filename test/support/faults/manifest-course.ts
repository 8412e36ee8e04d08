// A reference Execution of manifest items for crash tests: its job, a job after an edit of the spec, and its deletion.
// The results are the objects on the target, the managed resources in the status of items, and the effective writes.
// The target is the test cluster itself, through the worker's proxy.
//
//   M1. The results contain no names and uids that differ between two runs, so tests can compare them with toEqual.

import type { RecordedWrite } from './http-proxy.ts'
import { API, type Cluster, type LsObject } from '../cluster/cluster.ts'
import { waitUntilJournalIdle, type Lane, RESTART_MS } from './lane.ts'
import { configMap, deployment, manifestItem, type ManifestItem, start, trigger } from '../landscaper/manifests.ts'

const HOLD = 'test.example/hold'
const KINDS = [
  ['configmaps', 'v1'],
  ['deployments', 'apps/v1'],
] as const

/** The result of a job or of the deletion. */
export interface ManifestCourse {
  readonly execution: { readonly phase: string | undefined; readonly exports: unknown } | undefined
  /** Objects of the run on the target: kind, name, content. */
  readonly target: readonly unknown[]
  /** By item: phase and managed resources. A resource whose uid is not the uid of an object on the target is marked. */
  readonly items: Readonly<Record<string, unknown>>
  /** Successful writes by label and object, without writes of status, tokens and Kubernetes Events. */
  readonly writes: Readonly<Record<string, number>>
}

/**
 * Deploys an item that finishes at once, and a dependent item that waits for its pods. Changes the Target before the
 * job, so that the worker requests access to the target again.
 */
export async function deploy(lane: Lane, run: string): Promise<ManifestCourse> {
  await lane.cluster.patch('targets', 'here', { metadata: { annotations: { run } } })
  await start(lane.cluster, run, firstItems(run, lane.cluster.namespace))
  await lane.cluster.waitUntilFinished(run, undefined, 'executions', RESTART_MS)
  return await courseOf(lane, run)
}

/** Triggers a job that changes one ConfigMap and no longer contains another one. */
export async function edit({ cluster, ...lane }: Lane, run: string): Promise<ManifestCourse> {
  const [one, two] = firstItems(run, cluster.namespace)
  const manifests = [held(run, cluster.namespace), configMap(`${run}-kept`, cluster.namespace, { key: 'edited' })]
  const deployItems = [{ ...one, manifests }, two].map(manifestItem)
  await cluster.patch('executions', run, { spec: { deployItems } })
  await trigger(cluster, run, `${run}-2`)
  await cluster.waitUntilFinished(run, `${run}-1`, 'executions', RESTART_MS)
  return await courseOf({ cluster, ...lane }, run)
}

/** Deletes the Execution. One ConfigMap remains until item `one` is Deleting; then the test removes its finalizer. */
export async function remove(lane: Lane, run: string): Promise<ManifestCourse> {
  const { cluster } = lane
  await cluster.deleteByHand('executions', run)
  await cluster.waitUntilItems(run, ['one'], (item) => item?.status?.phase === 'Deleting', RESTART_MS)
  await cluster.kube.request('PATCH', `/api/v1/namespaces/${cluster.namespace}/configmaps/${run}-held`, {
    body: { metadata: { finalizers: null } },
    contentType: 'application/merge-patch+json',
  })
  await cluster.waitUntilGone(run, 'executions', RESTART_MS)
  return await courseOf(lane, run)
}

function firstItems(run: string, namespace: string): readonly [ManifestItem, ManifestItem] {
  const fromResource = { apiVersion: 'apps/v1', kind: 'Deployment', name: run, namespace }
  const exports = { exports: [{ key: 'replicas', jsonPath: '.status.readyReplicas', fromResource }] }
  return [
    {
      name: 'one',
      manifests: [held(run, namespace), ...['kept', 'dropped'].map((one) => configMap(`${run}-${one}`, namespace))],
    },
    // Because of minReadySeconds, the Deployment is not available at the first check.
    {
      name: 'two',
      dependsOn: ['one'],
      manifests: [deployment(run, namespace, { minReadySeconds: 1 })],
      config: { exports },
    },
  ]
}

function held(run: string, namespace: string) {
  const { metadata, ...rest } = configMap(`${run}-held`, namespace)
  return { ...rest, metadata: { ...metadata, finalizers: [HOLD] } }
}

async function courseOf(lane: Lane, run: string): Promise<ManifestCourse> {
  const { cluster, proxy } = lane
  await waitUntilJournalIdle(lane)
  const execution = await cluster.get('executions', run)
  const live = await onTarget(cluster, run)
  const items = await cluster.items(run)
  return {
    execution: execution && { phase: execution.status?.phase, exports: await exportsOf(cluster, execution) },
    target: live.map((object) => contentOf(object, run)).sort(),
    items: Object.fromEntries([...items].map(([name, item]) => [name, memoryOf(item, live, run)])),
    writes: effectsOf(proxy.writes, run),
  }
}

async function onTarget(cluster: Cluster, run: string): Promise<readonly LsObject[]> {
  const lists = await Promise.all(
    KINDS.map(async ([plural, apiVersion]) => {
      const objects = await cluster.list(plural, apiVersion)
      return objects.map((object) => ({ ...object, apiVersion, kind: plural }))
    }),
  )
  return lists.flat().filter(({ metadata: { name } }) => name === run || name.startsWith(`${run}-`))
}

function contentOf({ kind, metadata, spec, status, ...rest }: LsObject, run: string): string {
  const { generation, deletionTimestamp } = metadata
  const content = [generation, deletionTimestamp, rest['data'], spec?.['replicas'], status?.['readyReplicas']]
  return `${kind ?? ''} ${metadata.name.replace(run, '<run>')} ${JSON.stringify(content)}`
}

function memoryOf({ status }: LsObject, live: readonly LsObject[], run: string) {
  const { managedResources = [] } = (status?.['providerStatus'] ?? {}) as {
    managedResources?: readonly {
      readonly resource: { readonly name: string; readonly kind: string; readonly uid?: string }
    }[]
  }
  const remembered = managedResources.map(({ resource: { kind, name, uid } }) => {
    const isLive = live.some(({ metadata }) => metadata.uid === uid)
    return `${kind} ${name.replace(run, '<run>')}${isLive ? '' : ' of another uid'}`
  })
  return { phase: status?.phase, remembered: remembered.sort() }
}

async function exportsOf(cluster: Cluster, { status }: LsObject): Promise<unknown> {
  const { name } = status?.exportRef ?? {}
  return name === undefined ? undefined : (await cluster.get('dataobjects', name, API))?.['data']
}

function effectsOf(writes: readonly RecordedWrite[], run: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { label, status, answer } of writes) {
    if (status >= 300 || label.endsWith('/status') || label.endsWith('/token') || label === 'POST events') continue
    // The answer to a DELETE may be a Status, which has the name in `details`. The names of items, Secrets and
    // DataObjects differ between runs.
    const { name = (answer as { details?: { name?: string } }).details?.name ?? '' } = answer.metadata as {
      name?: string
    }
    const object = /deployitems|secrets|dataobjects/.test(label) ? '' : name.replace(run, '<run>')
    const key = `${label} ${object}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}
