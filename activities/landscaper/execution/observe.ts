// What a pass of an Execution sees: the Execution and its deploy items, of which only those that changed since the run last looked.

import { MANAGED_BY_LABEL } from '../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { EXECUTION_NAME_LIMIT } from '../item-rules.ts'
import {
  type Children,
  type Family,
  goneSince,
  isNews,
  type KnownVersions,
  newestKnown,
  readFamily,
  recordObservation,
} from '../../kube/read-family.ts'
import { type DeployItemView, deployItemView, pickupMs } from '../deploy-item-view.ts'
import { type ExecutionView, executionView } from './views.ts'

export interface ObserveInput {
  readonly by: By
  readonly subject: Subject
  /** Of the deploy items. */
  readonly known: KnownVersions
  /** Generation of the Execution whose items the run knows; absent = none. */
  readonly generation?: number
}

export interface ExecutionObservation {
  /** Undefined: the Execution is gone. */
  readonly target: ObservedExecution | undefined
  readonly changed: readonly DeployItemView[]
  /** uids of known items that are there no more. */
  readonly gone: readonly string[]
}

export interface ObservedExecution extends Omit<ExecutionView, 'items'> {
  /** Undefined where the run knows them; told in each look, they made histories grow with items times looks. */
  readonly items: ExecutionView['items'] | undefined
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /**
   * Reads an Execution and its deploy items.
   *
   * @returns the Execution (undefined when gone or replaced), and the difference to the items that the run knows.
   * @throws retryable failures of the API server and the journal.
   */
  async observeExecution({ by, subject, known, generation }: ObserveInput): Promise<ExecutionObservation> {
    const [{ subject: execution, children: items }] = await Promise.all([
      readExecution(deps, subject, newestKnown(known)),
      recordObservation(deps, by),
    ])
    // What waits for its deployer is another thing at any later time.
    const isTold = (item: DeployItem) => isNews(item, known) || pickupMs(item, deps) !== undefined
    return {
      target: execution === undefined ? undefined : observed(executionView(execution), generation),
      changed: items.filter(isTold).map((item) => deployItemView(item, deps)),
      gone: goneSince(known, items),
    }
  },
})

function observed(view: ExecutionView, known: number | undefined): ObservedExecution {
  return view.generation === known ? { ...view, items: undefined } : view
}

/** An Execution and the deploy items that it owns; items of an earlier Execution of the same name are not among them. */
export async function readExecution(
  deps: LandscaperDeps,
  execution: Omit<Subject, 'kind'>,
  ownVersion: number,
): Promise<Family<typeof executionKind, typeof deployItemKind>> {
  return await readFamily(deps, executionKind, execution, itemsOf(execution, ownVersion))
}

/** How an Execution's deploy items are found. @param ownVersion of an item that the run itself has seen. */
export function itemsOf({ name }: Pick<Subject, 'name'>, ownVersion: number): Children<typeof deployItemKind> {
  // No label has such a value, and the API server refuses to look for it.
  const isTooLong = name.length > EXECUTION_NAME_LIMIT
  const by = isTooLong ? undefined : { labelSelector: `${MANAGED_BY_LABEL}=${name}` }
  return { watched: deployItemKind, by, ownVersion }
}
