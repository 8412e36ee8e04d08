// Observes an Execution and its deploy items for a pass; returns only the items that changed since the run's previous observation.

import { type DeployItem, deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type By, isIdle, type Subject } from '../../../workflows/kit/index.ts'
import { dataOf } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import {
  type Children,
  type Family,
  type KnownVersions,
  newestKnown,
  readFamily,
  withNamedChildren,
} from '../../kube/read-family.ts'
import { versionOf } from '../../kube/object-cache.ts'
import { targetView } from '../../kube/object-views.ts'
import { declaredChildren, newsOf, observe } from '../../run/observe.ts'
import { remainingMs } from '../deploy/run/item-status.ts'
import { type DeployItemView, deployItemView, pickupMs } from '../deploy-item-view.ts'
import { type ExecutionView, executionView } from './views.ts'

export interface ObserveInput {
  readonly by: By
  readonly subject: Subject
  /** Known versions of the deploy items. */
  readonly known: KnownVersions
  /** Generation of the Execution whose items the run knows; absent: none. */
  readonly generation?: number
}

export interface ExecutionObservation {
  /** Undefined: the Execution is deleted. */
  readonly target: ObservedExecution | undefined
  readonly changed: readonly DeployItemView[]
  /** uids of known items that no longer exist. */
  readonly gone: readonly string[]
}

export interface ObservedExecution extends Omit<ExecutionView, 'items'> {
  /** Undefined if the run knows them. Returning them each time would make histories grow with items times observations. */
  readonly items: ExecutionView['items'] | undefined
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /**
   * Reads an Execution and its deploy items.
   *
   * @returns the Execution (undefined when deleted or replaced), and the changes to the items that the run knows.
   * @throws retryable failures of the API server and the journal.
   */
  async observeExecution({ by, subject, known, generation }: ObserveInput): Promise<ExecutionObservation> {
    const reading = readExecution(deps, { by, subject }, newestKnown(known))
    const { subject: execution, children: items } = await observe(deps, by, reading)
    return {
      target:
        execution === undefined
          ? undefined
          : withoutKnown(
              await executionView(execution, dataOf(deps, subject), await deps.landscaper.trust?.()),
              generation,
            ),
      ...itemsNews(deps, by, items, known),
    }
  },
})

/** The changes to the items that the run knows. */
export function itemsNews(
  deps: LandscaperDeps,
  by: By,
  items: readonly DeployItem[],
  known: KnownVersions,
): Pick<ExecutionObservation, 'changed' | 'gone'> {
  // The view of an item that waits for its deployer, or has a timeout, changes with time.
  const ages = (item: DeployItem) =>
    pickupMs(item, by, deps) !== undefined || (!isIdle(targetView(item)) && remainingMs(item, deps.now()) !== undefined)
  const { changed, gone } = newsOf(items, known, ages)
  return { changed: changed.map((item) => deployItemView(item, by, deps)), gone }
}

function withoutKnown(view: ExecutionView, known: number | undefined): ObservedExecution {
  return view.generation === known ? { ...view, items: undefined } : view
}

/** The run, and the Execution whose items it reads. */
export interface ItemsOwner {
  readonly by: By
  readonly subject: Subject
}

/** An Execution and the deploy items that it owns, without items of an earlier Execution of the same name. */
export async function readExecution(
  deps: LandscaperDeps,
  owner: ItemsOwner,
  ownVersion: number,
): Promise<Family<typeof executionKind, typeof deployItemKind>> {
  const items = itemsOf(deps, owner, ownVersion)
  const { subject, children } = await readFamily(deps, executionKind, owner.subject, items)
  if (subject === undefined) return { subject, children }
  return { subject, children: await withNamedItems(deps, subject, items, children) }
}

/** The items, after a LIST if one that the Execution's status names is not among them. */
export async function withNamedItems(
  deps: LandscaperDeps,
  execution: Execution,
  items: Children<typeof deployItemKind>,
  found: readonly DeployItem[],
): Promise<readonly DeployItem[]> {
  const { metadata, status } = execution
  const owner = { uid: metadata.uid, namespace: metadata.namespace, name: metadata.name, watched: executionKind }
  const active = hasCreatedChildren(status) ? (status?.deployItemCache?.activeDIs ?? []) : []
  const named = active.map(({ objectName = '' }) => objectName)
  return await withNamedChildren(deps, owner, items, { named, version: versionOf(execution), found })
}

/** Whether the job has created all of its children. */
export function hasCreatedChildren(status: { readonly phase?: string } | undefined): boolean {
  return status?.phase === 'Progressing' || status?.phase === 'Completing'
}

/** The query of an Execution's items. @param ownVersion the version of an item that the run has observed. */
export function itemsOf(
  deps: LandscaperDeps,
  { by, subject }: ItemsOwner,
  ownVersion: number,
): Children<typeof deployItemKind> {
  return declaredChildren(deps, { by, subject, state: 'deployItems', watched: deployItemKind, ownVersion })
}
