// What a pass of an Installation sees: itself and its Execution, which has its name.

import type { DeployItem } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type Children, type KnownVersions, newestKnown, readFamily, readOwned } from '../../kube/read-family.ts'
import { declaredChildren, observed } from '../../run/observe.ts'
import type { DeployItemView } from '../deploy-item-view.ts'
import { type ItemsOwner, itemsNews, itemsOf } from '../execution/observe.ts'
import { type ChildExecution, childExecution, type InstallationView, installationView } from './views.ts'

export interface InstallationObservation {
  /** Undefined: the Installation is gone. */
  readonly target: InstallationView | undefined
  readonly execution: ChildExecution | undefined
  /** Of the Execution: those that are not as the run knows them. */
  readonly changed: readonly DeployItemView[]
  /** uids of known deploy items that are there no more. */
  readonly gone: readonly string[]
}

export interface ObserveInstallationInput {
  readonly by: By
  readonly subject: Subject
  /** Of the Execution's deploy items. */
  readonly known: KnownVersions
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /** Reads an Installation with the Execution that it hosts, and its items. @throws retryable failures of the API server and the journal. */
  async observeInstallation({ by, subject, known }: ObserveInstallationInput): Promise<InstallationObservation> {
    const { installation, execution, items } = await observed(deps, by, readTree(deps, { by, subject }, known))
    return {
      target: installation === undefined ? undefined : installationView(installation),
      execution: await childExecution(deps, execution, subject),
      ...itemsNews(deps, by, items, known),
    }
  },
})

/** An Installation, its Execution, and the items of that. */
export async function readTree(deps: LandscaperDeps, owner: ItemsOwner, known: KnownVersions) {
  const family = await readFamily(deps, installationKind, owner.subject, executionsOf(deps, owner))
  const { subject: installation, children } = family
  const [execution] = children
  if (execution === undefined) return { installation, execution, items: [] }
  return { installation, execution, items: await readItemsOf(deps, owner.by, execution, known) }
}

/** The items of an Installation's Execution. @param by of the Installation's run. */
export async function readItemsOf(
  deps: LandscaperDeps,
  by: By,
  { metadata: { uid, namespace, name } }: Execution,
  known: KnownVersions,
): Promise<readonly DeployItem[]> {
  const subject = { kind: executionKind.kind, uid, namespace, name }
  const found = itemsOf(deps, { by: { ...by, controller: 'execution' }, subject }, newestKnown(known))
  return await readOwned(deps, { ...subject, watched: executionKind }, found)
}

/** How an Installation's Execution is found. */
export function executionsOf(
  deps: LandscaperDeps,
  { by, subject }: { readonly by: By; readonly subject: Subject },
): Children<typeof executionKind> {
  return declaredChildren(deps, { by, subject, state: 'execution', watched: executionKind })
}
