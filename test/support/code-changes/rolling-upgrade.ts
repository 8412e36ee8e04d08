// Provides Installations, load and counts of writes for tests of rolling upgrades of the worker.
//
//   G1. Jobs start before the upgrade and end after it, and some of them progress in between: each step of the upgrade
//       interrupts each kind of waiting.
//   G2. Load continues during the upgrade: new Installations, and edits of finished ones, so that every worker stops
//       while it has jobs. At most 4 Installations of one `keepCreating` are unfinished at the same time, so that a
//       busy machine keeps up.

import type { RecordedWrite } from '../faults/http-proxy.ts'
import { blueprintOf, type Cluster, installation, type Item, type LsObject, waitingItem } from '../cluster/cluster.ts'
import { configMap, manifestItem, TARGET_TYPE } from '../landscaper/manifests.ts'

const HOLD = 'test.example/hold'
/** Limit for waits on a busy machine. Only a failure reaches it. */
export const PATIENT_MS = 300_000

/** Deploy items: a test finishes `one` and then `two` with `finishItemOf`; `three` finishes by itself. */
export const STEPS: readonly Item[] = [
  waitingItem('one'),
  waitingItem('two', ['one']),
  { name: 'three', dependsOn: ['two'] },
]
export const QUICK: readonly Item[] = [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }]

/** An Installation with one manifest item for the Target `here`. */
export function withManifest(name: string, manifest: Readonly<Record<string, unknown>>) {
  const deployItems = [{ ...manifestItem({ name: 'only', manifests: [manifest] }), target: { import: 'here' } }]
  const blueprint = {
    ...blueprintOf([]),
    imports: [{ name: 'here', type: 'target', targetType: TARGET_TYPE }],
    deployExecutions: [{ name: 'default', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
  }
  const inline = { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } }
  const spec = { blueprint: { inline }, imports: { targets: [{ name: 'here', target: 'here' }] } }
  return { ...installation(name, []), spec }
}

/** A ConfigMap with a finalizer: after its deletion, it remains until `removeFinalizers` removes the finalizer. */
export function configMapWithFinalizer(name: string, namespace: string) {
  const { metadata, ...rest } = configMap(name, namespace)
  return { ...rest, metadata: { ...metadata, finalizers: [HOLD] } }
}

export async function removeFinalizers({ kube, namespace }: Cluster, name: string): Promise<void> {
  await kube.request('PATCH', `/api/v1/namespaces/${namespace}/configmaps/${name}`, {
    body: { metadata: { finalizers: null } },
    contentType: 'application/merge-patch+json',
  })
}

/** Waits until the item is Progressing, and finishes it. */
export async function finishItemOf(cluster: Cluster, name: string, step: string): Promise<void> {
  const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing'
  const items = await cluster.waitUntilItems(name, [step], isWaiting, PATIENT_MS)
  await cluster.finishItem(items.get(step)!, 'Succeeded')
}

/** Adds an item to the blueprint of an Installation with the items `QUICK`. */
export async function addItem(cluster: Cluster, name: string): Promise<void> {
  const { spec, metadata } = installation(name, [...QUICK, { name: 'c', dependsOn: ['b'] }])
  await cluster.patch('installations', name, { spec, metadata })
}

const MAX_UNFINISHED = 4

/** Creates Installations until the caller calls the returned function, which waits for their jobs and returns names. */
export function keepCreating(cluster: Cluster, prefix: string): () => Promise<readonly string[]> {
  let isStopped = false
  const names: string[] = []
  const one = async () => {
    while (!isStopped) {
      const name = `${prefix}-${names.length}`
      names.push(name)
      await cluster.create(installation(name, QUICK), 'installations')
      await cluster.waitUntilFinished(name, undefined, 'installations', PATIENT_MS)
    }
  }
  const creating = Promise.all(Array.from({ length: MAX_UNFINISHED }, one))
  return async () => {
    isStopped = true
    await creating
    return names
  }
}

export interface Write extends RecordedWrite {
  /** The uid of the written object. */
  readonly uid: string
}

/** The writes that changed an object, in order. A write had no effect if its answer has a resourceVersion that an earlier answer had. */
export function effectiveWrites(writes: readonly RecordedWrite[]): readonly Write[] {
  const seen = new Set<string>()
  return writes.flatMap((write) => {
    const { label, status, answer } = write
    if (status >= 300 || label === 'POST events' || label.endsWith('/token')) return []
    const { uid = '', resourceVersion = '' } = answer.metadata
    const key = `${uid} ${resourceVersion}`
    if (uid === '' || seen.has(key)) return []
    seen.add(key)
    return [{ ...write, uid }]
  })
}

/** The keys that occur more than once, with their counts. */
export function duplicatesIn(keys: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return Object.fromEntries([...counts].filter(([, count]) => count > 1))
}

const MANAGED_BY = 'execution.landscaper.gardener.cloud/managed-by'
const ITEM_NAME = 'execution.landscaper.gardener.cloud/name'

/** The number of writes of an Installation's objects, by write label and name of the deploy item. */
export function countWrites(writes: readonly Write[], name: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { label, answer } of writes) {
    const { name: own, labels = {} } = answer.metadata
    if (own !== name && labels[MANAGED_BY] !== name) continue
    const key = `${label} ${labels[ITEM_NAME] ?? ''}`.trim()
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}
