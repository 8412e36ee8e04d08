// Sorts the items of a job into the classes A-E of the seed: triggered items by their result, the others by whether they may be triggered.
// Source: seeds/landscaper-execution-controller.txt "Progressing" and "Deleting", spec/landscaper.md 2.8.

import type { ItemView } from '../../../activities/landscaper/execution/views.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyBackward, classifyForward } from '../../kit/index.ts'

export interface DeployItemClasses {
  /** Triggered, finished, Succeeded (A). */
  readonly succeeded: readonly DeployItemView[]
  /** Triggered and finished with another phase (B), as item names. An item without a DeployItem object counts as failed. */
  readonly failed: readonly string[]
  /** Triggered, not finished (C). */
  readonly running: readonly DeployItemView[]
  /** Not triggered, all predecessors finished (D). */
  readonly ready: readonly DeployItemView[]
  /** Not triggered, some predecessor unfinished (E). */
  readonly blocked: readonly ItemView[]
  /** DeployItems that the spec no longer names, or that are being deleted. */
  readonly orphans: readonly DeployItemView[]
}

/** Whether the run works on an item whose status does not have the job ID yet, because the first status write is pending. */
export type IsRunning = (uid: string) => boolean

/** Classes for a deployment. The dependencies come from the Execution's spec. */
export function classifyDeployItems(
  items: readonly ItemView[],
  objects: readonly DeployItemView[],
  jobID: string,
  isAtWork: IsRunning,
): DeployItemClasses {
  const current = new Map<string, DeployItemView>()
  for (const object of objects) if (!object.deleting) current.set(object.item, object)
  const { succeeded, failed, running, ready, blocked } = classifyForward(items, ({ name }) => {
    const object = current.get(name)
    if (object === undefined) return 'failed'
    if (object.jobID !== jobID) return isAtWork(object.uid) ? 'running' : 'waiting'
    if (object.jobIDFinished !== jobID) return 'running'
    return object.phase === 'Succeeded' ? 'succeeded' : 'failed'
  })
  const objectsOf = (some: readonly ItemView[]) => some.flatMap(({ name }) => current.get(name) ?? [])
  const wanted = new Set(items.map((item) => item.name))
  return {
    succeeded: objectsOf(succeeded),
    running: objectsOf(running),
    ready: objectsOf(ready),
    failed: failed.map(({ name }) => name),
    blocked,
    orphans: objects.filter((object) => object.deleting || !wanted.has(object.item)),
  }
}

export interface DeletionClasses {
  /** Triggered, finished, still exists (B). */
  readonly failed: readonly DeployItemView[]
  /** Triggered, not finished (C). */
  readonly running: readonly DeployItemView[]
  /** Not triggered, all successors deleted (D). */
  readonly ready: readonly DeployItemView[]
  /** Not triggered, some successor still exists (E). */
  readonly blocked: readonly DeployItemView[]
}

/** Classes for a deletion. The dependencies come from the DeployItems' annotations, because the spec may have changed. */
export function classifyForDeletion(
  objects: readonly DeployItemView[],
  jobID: string,
  isAtWork: IsRunning,
): DeletionClasses {
  // Nodes carry item names, not object names. An item that was never deployed has no dependencies.
  const nodes = objects.map((object) => ({
    name: object.item,
    object,
    dependsOn: object.untouched === true ? [] : object.dependsOn,
  }))
  const { failed, running, ready, blocked } = classifyBackward(nodes, ({ object }) => {
    if (object.jobID !== jobID) return isAtWork(object.uid) ? 'running' : 'waiting'
    return object.jobIDFinished === jobID ? 'failed' : 'running'
  })
  const objectsOf = (some: readonly (typeof nodes)[number][]) => some.map(({ object }) => object)
  return {
    failed: objectsOf(failed),
    running: objectsOf(running),
    ready: objectsOf(ready),
    blocked: objectsOf(blocked),
  }
}
