// The classes A-E of the seed: which items have been triggered in this job and how they stand, which may be triggered now.
// Source: seeds/landscaper-execution-controller.txt "Progressing" and "Deleting", spec/landscaper.md 2.8.

import type { ItemView } from '../../../activities/landscaper/execution/views.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { classifyBackward, classifyForward } from '../../kit/index.ts'

export interface DeployItemClasses {
  /** Triggered, finished, Succeeded (A). */
  readonly succeeded: readonly DeployItemView[]
  /** Triggered and finished otherwise (B), as item names; an item whose object is missing counts too. */
  readonly failed: readonly string[]
  /** Triggered, not finished (C). */
  readonly running: readonly DeployItemView[]
  /** Not triggered, all predecessors finished (D). */
  readonly ready: readonly DeployItemView[]
  /** Not triggered, some predecessor unfinished (E). */
  readonly blocked: readonly ItemView[]
  /** Objects that the spec no longer wants, or that somebody deletes. */
  readonly orphans: readonly DeployItemView[]
}

/** Whether an item that does not have the job yet is worked on all the same: its first try has not come to a write. */
export type IsAtWork = (uid: string) => boolean

/** Classes for the way forward: the order comes from the Execution's spec. */
export function classifyDeployItems(
  items: readonly ItemView[],
  objects: readonly DeployItemView[],
  jobID: string,
  isAtWork: IsAtWork,
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
  /** Triggered, finished, still there (B). */
  readonly failed: readonly DeployItemView[]
  /** Triggered, not finished (C). */
  readonly running: readonly DeployItemView[]
  /** Not triggered, all successors gone (D). */
  readonly ready: readonly DeployItemView[]
  /** Not triggered, some successor still there (E). */
  readonly blocked: readonly DeployItemView[]
}

/** Classes for the way back: the order comes from the items themselves, which remember it, not from a spec that may have changed. */
export function classifyForDeletion(
  objects: readonly DeployItemView[],
  jobID: string,
  isAtWork: IsAtWork,
): DeletionClasses {
  // Their names in the graph are those of the items, not of the objects. What was never deployed binds no order.
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
