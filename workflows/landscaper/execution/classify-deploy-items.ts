// The classes A-E of the seed: which items have been triggered in this job and how they stand, which may be triggered now.
// Source: seeds/landscaper-execution-controller.txt "Progressing" and "Deleting", spec/landscaper.md 2.8.

import type { ItemView } from '../../../activities/landscaper/execution/views.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'

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

/** Classes for the way forward: the order comes from the Execution's spec. */
export function classifyDeployItems(
  items: readonly ItemView[],
  objects: readonly DeployItemView[],
  jobID: string,
): DeployItemClasses {
  const current = new Map<string, DeployItemView>()
  for (const object of objects) if (!object.deleting) current.set(object.item, object)
  const wanted = new Set(items.map((item) => item.name))
  const isFinished = (name: string) => current.get(name)?.jobIDFinished === jobID

  const classes = {
    succeeded: [] as DeployItemView[],
    failed: [] as string[],
    running: [] as DeployItemView[],
    ready: [] as DeployItemView[],
    blocked: [] as ItemView[],
  }
  for (const item of items) {
    const object = current.get(item.name)
    if (object === undefined) classes.failed.push(item.name)
    else if (object.jobID !== jobID) {
      if (item.dependsOn.every(isFinished)) classes.ready.push(object)
      else classes.blocked.push(item)
    } else if (object.jobIDFinished !== jobID) classes.running.push(object)
    else if (object.phase === 'Succeeded') classes.succeeded.push(object)
    else classes.failed.push(item.name)
  }
  return { ...classes, orphans: objects.filter((object) => object.deleting || !wanted.has(object.item)) }
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
export function classifyForDeletion(objects: readonly DeployItemView[], jobID: string): DeletionClasses {
  const needed = new Set(objects.flatMap((object) => object.dependsOn))
  const triggered = objects.filter((object) => object.jobID === jobID)
  const waiting = objects.filter((object) => object.jobID !== jobID)
  return {
    failed: triggered.filter((object) => object.jobIDFinished === jobID),
    running: triggered.filter((object) => object.jobIDFinished !== jobID),
    ready: waiting.filter((object) => !needed.has(object.item)),
    blocked: waiting.filter((object) => needed.has(object.item)),
  }
}
