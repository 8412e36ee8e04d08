// Releases items whose cluster was removed: the Shoot in their annotation does not exist in the project of the namespace's TargetSync.
// Source: spec/landscaper.md 2.8 "Deletion".
//
//   R1. A Shoot is removed only if the project's server answers that it does not exist. Without an answer, without access, or if the API is not
//       served, the state is unknown: no item is released, and the check is repeated.
//   R2. With its own domain, a Shoot's server has another name than the Shoot: a Shoot with the name of the Target, which a TargetSync uses for both,
//       counts as the item's cluster, too.
//   R3. Only the checked state is released: an item that has changed meanwhile is checked again.

import { FINALIZER } from '../../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { targetSyncKind } from '../../../workflows/landscaper/target-sync/kind.ts'
import { isIdle, type Subject, joinNames } from '../../../workflows/kit/index.ts'
import { activitySignal } from '../../kube/activity-signal.ts'
import type { ObjectList } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { KubeError } from '../../kube/errors.ts'
import { recordEvent } from '../../kube/events.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { storedAs } from '../../kube/object-views.ts'
import type { WriteAnswer } from '../../kube/write.ts'
import { removeFinalizer } from '../../run/children.ts'
import type { LandscaperDeps } from '../deps.ts'
import { deployItemView, type ItemCluster } from '../deploy-item-view.ts'
import { shortenText, toDeployError } from '../deploy/run/deploy-errors.ts'
import { DeployError } from '../deploy/run/deployer.ts'
import { countEnd } from '../deploy/run/item-write.ts'
import { isShootThere } from '../deploy/target/gardener.ts'
import { isObjectName } from '../deploy/target/target-config.ts'
import { type BatchResult, type ItemsInput, type ItemWrite, send } from './item-batch.ts'

export interface ClusteredInput extends ItemsInput {
  readonly items: readonly ClusteredItem[]
}

type ClusteredItem = ItemsInput['items'][number] & { readonly cluster: ItemCluster }

export interface RemovedResult extends BatchResult {
  /** Names of the items whose cluster exists: they must be uninstalled. For items in no list the state is unknown; `failures` has the reason. */
  readonly there: readonly string[]
}

const OPERATION = 'FindCluster'
const STEP = 'releaseItemsOfRemovedClusters'
/** A pass waits for the answers. */
const LONGEST_MS = 5000
const PARALLEL_QUESTIONS = 10
const NAMES_SHOWN = 3

/** @param longestMs for all requests of a call together. */
export const removedClusterActivities = (deps: LandscaperDeps, longestMs = LONGEST_MS) => ({
  /** Releases the items whose cluster was removed. Idempotent. @throws retryable failures of the journal; other failures are in the result. */
  async releaseItemsOfRemovedClusters({ by, subject, jobID, items }: ClusteredInput): Promise<RemovedResult> {
    const find = await finder(deps, subject.namespace, longestMs)
    const found = new Map<ClusteredItem, Whereabouts>()
    await inParallel(items, PARALLEL_QUESTIONS, async (item) => void found.set(item, await find(item.cluster)))
    const those = (is: Whereabouts['is']) => items.filter((item) => found.get(item)?.is === is)
    const removed = those('removed')
    const byName = new Map(removed.map((item) => [item.name, item]))
    const tell = async (answer: WriteAnswer<typeof deployItemKind>) => {
      if (answer.result !== 'ok' || !answer.wrote) return
      countEnd(deps, { by, jobID, now: deps.now() }, answer.object)
      const item = byName.get(answer.object.metadata.name)
      if (item !== undefined) await reportRelease(deps, subject, item, found.get(item)?.text ?? '')
    }
    const writes = removed.map((item) => releaseOf(subject, item))
    const released = await send(deps, { by, step: STEP }, writes, tell)
    const failures = failuresOf(those('unknown'), (item) => found.get(item)?.text ?? '')
    return { ...released, failures: [...released.failures, ...failures], there: those('there').map(({ name }) => name) }
  },
})

/** `text` is for messages: the cluster, or the reason why its state is unknown. */
interface Whereabouts {
  readonly is: 'there' | 'removed' | 'unknown'
  readonly text: string
}

/** The project of the namespace's TargetSync. */
interface Project {
  /** The TargetSync, for messages. */
  readonly at: string
  readonly namespace: string
  /** The Target of the project's own cluster; undefined: none. */
  readonly ownTarget: string | undefined
  readonly isThere: (shoot: string) => Promise<boolean>
}

type Find = (cluster: ItemCluster) => Promise<Whereabouts>

/** Checks each Shoot once, and opens the project once. */
async function finder(deps: LandscaperDeps, namespace: string, longestMs: number): Promise<Find> {
  const signal = limited(activitySignal(), longestMs)
  try {
    const project = await openProject(deps, namespace, signal)
    return async (cluster) => {
      try {
        return await whereabouts(project, cluster)
      } catch (error) {
        return unknown(error, `${project.at}: `)
      }
    }
  } catch (error) {
    const nobodyKnows = unknown(error)
    return () => Promise.resolve(nobodyKnows)
  }
}

function limited(signal: AbortSignal | undefined, longestMs: number): AbortSignal {
  const limit = AbortSignal.timeout(longestMs)
  return signal === undefined ? limit : AbortSignal.any([signal, limit])
}

async function whereabouts(project: Project, { shoot, target }: ItemCluster): Promise<Whereabouts> {
  if (target === project.ownTarget) return { is: 'there', text: '' }
  // R2
  const names = new Set([shoot, target.replace(/\.kubeconfig$/, '')].filter(isObjectName))
  for (const name of names) if (await project.isThere(name)) return { is: 'there', text: '' }
  return { is: 'removed', text: `Shoot "${project.namespace}/${shoot}" does not exist, according to ${project.at}` }
}

/** Opens the project of the only TargetSync of the namespace. @throws DeployError, KubeError, and when the signal is aborted. */
async function openProject(deps: LandscaperDeps, namespace: string, signal: AbortSignal): Promise<Project> {
  const path = resourcePath(targetSyncKind, namespace)
  const { items } = await deps.kube.request<ObjectList>('GET', path, { query: { limit: '2' }, signal })
  const [only, ...others] = items.map((item) => storedAs(targetSyncKind, item))
  if (only === undefined || others.length > 0)
    throw unclear(
      `namespace ${namespace}: found ${only === undefined ? 'no' : 'more than one'} TargetSync; expected one`,
    )
  const { sourceNamespace, secretRef, createTargetToSource, targetToSourceName = sourceNamespace } = only.spec
  const at = `TargetSync "${namespace}/${only.metadata.name}"`
  if (!isObjectName(sourceNamespace)) throw unclear(`${at}: spec.sourceNamespace: not a valid namespace name`)
  const { name, key = 'kubeconfig' } = secretRef
  const { kube } = await deps.landscaper.targets.openSecret(namespace, { name, key }, signal)
  const asked = new Map<string, Promise<boolean>>()
  const ask = (shoot: string) => isShootThere(kube, { namespace: sourceNamespace, name: shoot }, signal)
  const isThere = (shoot: string) => {
    const answer = asked.get(shoot) ?? ask(shoot)
    asked.set(shoot, answer)
    return answer
  }
  const ownTarget = createTargetToSource === true ? targetToSourceName : undefined
  return { at, namespace: sourceNamespace, ownTarget, isThere }
}

function unclear(message: string): DeployError {
  return new DeployError(OPERATION, 'ClusterUnknown', message)
}

/** R1. @throws bugs, and when the activity has ended. */
function unknown(error: unknown, at = ''): Whereabouts {
  activitySignal()?.throwIfAborted()
  if (error instanceof KubeError || error instanceof DeployError)
    return { is: 'unknown', text: `${at}${shortenText(toDeployError(OPERATION, error).message)}` }
  const isOver = error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError')
  if (!isOver) throw error
  return { is: 'unknown', text: `${at}no answer in time` }
}

/** One failure per reason, for any number of items. */
function failuresOf(
  items: readonly ClusteredItem[],
  why: (item: ClusteredItem) => string,
): readonly BatchResult['failures'][number][] {
  const byReason = new Map<string, ClusteredItem[]>()
  for (const item of items) {
    const same = byReason.get(why(item))
    if (same === undefined) byReason.set(why(item), [item])
    else same.push(item)
  }
  return [...byReason].map(([reason, some]) => {
    const names = some.map(({ item, name }) => item ?? name)
    const object = joinNames(names, NAMES_SHOWN)
    const message = `onDelete.skipUninstallIfClusterRemoved: Pawl does not know whether the cluster was removed: ${reason}`
    return { object, code: 'ClusterUnknown', message, retryable: true }
  })
}

function releaseOf({ namespace }: Subject, item: ClusteredItem): ItemWrite {
  const { cluster, uid, name, version, finalizers } = item
  const write = removeFinalizer({ watched: deployItemKind, namespace, uid, name, version, finalizers }, FINALIZER)
  if (write.verb !== 'patch') return write
  return {
    ...write,
    // R3
    reapply(current) {
      const now = deployItemView(current, {}).cluster
      const isSame = now?.shoot === cluster.shoot && now.target === cluster.target && isIdle(current.status ?? {})
      return isSame ? write.reapply(current) : 'superseded'
    },
  }
}

/** Emits an Event with the reason. The item is deleted then, but its Events remain. */
async function reportRelease(
  deps: LandscaperDeps,
  { namespace }: Subject,
  { uid, name }: ClusteredItem,
  reason: string,
): Promise<void> {
  const { apiVersion, kind } = deployItemKind
  await recordEvent(
    deps,
    { apiVersion, kind, namespace, name, uid },
    {
      type: 'Normal',
      reason: 'UninstallSkipped',
      source: 'pawl',
      identity: [uid, 'UninstallSkipped'],
      message: `not uninstalled, because its cluster was removed: ${reason}`,
    },
  )
}
