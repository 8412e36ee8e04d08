// A stage on which releases of the workers take each other's place: jobs that wait in each way, load that goes on meanwhile, and what all of it has written.
//
//   G1. Jobs are begun before the roll and ended after it, a part of them in between: each way of waiting is interrupted by each of its steps.
//   G2. Load goes on meanwhile: new Installations, and edits of finished ones, so that every worker stops with jobs in its hands. On a busy machine it
//       does not pile up: a few unfinished ones are as good as many.

import type { RecordedWrite } from '../faults/api-proxy.ts'
import { blueprintOf, type Cluster, installation, type Item, type LsObject, waitingItem } from '../cluster/cluster.ts'
import { configMap, manifestItem, TARGET_TYPE } from '../landscaper/manifests.ts'

const HOLD = 'test.example/hold'
/** On a busy machine; only a failure takes all of it. */
export const PATIENT_MS = 300_000

/** Two steps that are ended by hand, one after the other, and one that ends by itself. */
export const STEPS: readonly Item[] = [
  waitingItem('one'),
  waitingItem('two', ['one']),
  { name: 'three', dependsOn: ['two'] },
]
export const QUICK: readonly Item[] = [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }]

/** An Installation with one item of manifests, for the Target `here`. */
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

/** Deleted, it stays until it is let go. */
export function held(name: string, namespace: string) {
  const { metadata, ...rest } = configMap(name, namespace)
  return { ...rest, metadata: { ...metadata, finalizers: [HOLD] } }
}

export async function letGo({ kube, namespace }: Cluster, name: string): Promise<void> {
  await kube.request('PATCH', `/api/v1/namespaces/${namespace}/configmaps/${name}`, {
    body: { metadata: { finalizers: null } },
    contentType: 'application/merge-patch+json',
  })
}

/** Ends the item that waits, when it does. */
export async function end(cluster: Cluster, name: string, step: string): Promise<void> {
  const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing'
  const items = await cluster.waitUntilItems(name, [step], isWaiting, PATIENT_MS)
  await cluster.finishItem(items.get(step)!, 'Succeeded')
}

/** New specs for what these Installations have; their blueprints gain an item. */
export async function edit(cluster: Cluster, name: string): Promise<void> {
  const { spec, metadata } = installation(name, [...QUICK, { name: 'c', dependsOn: ['b'] }])
  await cluster.patch('installations', name, { spec, metadata })
}

const AT_ONCE = 4

/** Creates Installations until the signal aborts, with a limited number of running jobs. @returns their names. */
export function keepCreating(cluster: Cluster, prefix: string): () => Promise<readonly string[]> {
  let isOver = false
  const names: string[] = []
  const one = async () => {
    while (!isOver) {
      const name = `${prefix}-${names.length}`
      names.push(name)
      await cluster.create(installation(name, QUICK), 'installations')
      await cluster.waitUntilFinished(name, undefined, 'installations', PATIENT_MS)
    }
  }
  const creating = Promise.all(Array.from({ length: AT_ONCE }, one))
  return async () => {
    isOver = true
    await creating
    return names
  }
}

export interface Write extends RecordedWrite {
  /** Of the object. */
  readonly uid: string
}

/** The writes that changed something, in their order: what has a version that was there before changed nothing. */
export function effective(writes: readonly RecordedWrite[]): readonly Write[] {
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

/** Effects that must happen once and happened more often, with their number. */
export function doubled(keys: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return Object.fromEntries([...counts].filter(([, count]) => count > 1))
}

const MANAGED_BY = 'execution.landscaper.gardener.cloud/managed-by'
const ITEM_NAME = 'execution.landscaper.gardener.cloud/name'

/** How often which of the objects of an Installation was written how. */
export function effectsOf(writes: readonly Write[], name: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { label, answer } of writes) {
    const { name: own, labels = {} } = answer.metadata
    if (own !== name && labels[MANAGED_BY] !== name) continue
    const key = `${label} ${labels[ITEM_NAME] ?? ''}`.trim()
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}
