// Observes an Installation for a pass: the object, its Execution (with the same name) and deploy items, and its sub-installations.

import type { DeployItem } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import {
  type Children,
  type KnownVersions,
  newestKnown,
  readFamilyOfKinds,
  readOwned,
  withNamedChildren,
} from '../../kube/read-family.ts'
import { versionOf } from '../../kube/object-cache.ts'
import { declaredChildren, newsOf, observe } from '../../run/observe.ts'
import type { DeployItemView } from '../deploy-item-view.ts'
import { hasCreatedChildren, type ItemsOwner, itemsNews, itemsOf, withNamedItems } from '../execution/observe.ts'
import {
  type ChildExecution,
  childExecution,
  type InstallationView,
  installationView,
  subInstallationView,
} from './views.ts'

export interface InstallationObservation {
  /** Undefined if the Installation does not exist any more. */
  readonly target: InstallationView | undefined
  readonly execution: ChildExecution | undefined
  /** The deploy items of the Execution that differ from the run's known versions. */
  readonly changed: readonly DeployItemView[]
  /** The uids of known deploy items that do not exist any more. */
  readonly gone: readonly string[]
  readonly subInstallations: SubsNews
}

/** The sub-installations that differ from the run's known versions. */
export interface SubsNews {
  readonly changed: readonly InstallationView[]
  /** The uids of known sub-installations that do not exist any more. */
  readonly gone: readonly string[]
}

export interface ObserveInstallationInput {
  readonly by: By
  readonly subject: Subject
  /** The known versions of the Execution's deploy items. */
  readonly known: KnownVersions
  /** The known versions of the sub-installations; absent: none. */
  readonly knownSubs?: KnownVersions
}

export const observeActivities = (deps: LandscaperDeps) => ({
  /** Reads an Installation with its hosted Execution and items. @throws retryable failures of the API server and the journal. */
  async observeInstallation({
    by,
    subject,
    known,
    knownSubs = {},
  }: ObserveInstallationInput): Promise<InstallationObservation> {
    const { installation, execution, items, subs } = await observe(
      deps,
      by,
      readTree(deps, { by, subject }, known, knownSubs),
    )
    const { changed, gone } = newsOf(subs, knownSubs, () => false)
    return {
      target: installation === undefined ? undefined : installationView(installation, await deps.landscaper.trust?.()),
      execution: await childExecution(deps, execution, subject),
      ...itemsNews(deps, by, items, known),
      subInstallations: { changed: changed.map(subInstallationView), gone },
    }
  },
})

/** Reads an Installation, its Execution with items, and its sub-installations. */
export async function readTree(
  deps: LandscaperDeps,
  owner: ItemsOwner,
  known: KnownVersions,
  knownSubs: KnownVersions = {},
) {
  const executions = executionsOf(deps, owner)
  const subInstallations = subInstallationsOf(deps, owner.by, owner.subject, newestKnown(knownSubs))
  const kin = await readFamilyOfKinds(deps, installationKind, owner.subject, [executions, subInstallations])
  const { subject: installation, children } = kin
  const [executionsFound, subsFound] = children
  if (installation === undefined) return { installation, execution: executionsFound[0], subs: subsFound, items: [] }
  const parent = { ...owner.subject, watched: installationKind }
  const version = versionOf(installation)
  const [ownExecution, activeSubs] = namesInStatus(installation)
  const [[execution], subs] = await Promise.all([
    withNamedChildren(deps, parent, executions, { named: ownExecution, version, found: executionsFound }),
    withNamedChildren(deps, parent, subInstallations, { named: activeSubs, version, found: subsFound }),
  ])
  if (execution === undefined) return { installation, execution, subs, items: [] }
  return { installation, execution, subs, items: await readItemsOf(deps, owner.by, execution, known) }
}

/** The names of the Execution and the sub-installations that the job has created. */
function namesInStatus({ status }: Installation): readonly [readonly string[], readonly string[]] {
  if (!hasCreatedChildren(status)) return [[], []]
  const execution = status?.executionRef?.name
  const subs = (status?.subInstCache?.activeSubs ?? []).map(({ objectName = '' }) => objectName)
  return [execution === undefined ? [] : [execution], subs]
}

/** The sub-installations of an Installation. @param by the calling run: of the Installation itself or of one of its sub-installations. */
export async function readSubInstallations(
  deps: LandscaperDeps,
  by: By,
  parent: Parent,
): Promise<readonly Installation[]> {
  return await readOwned(deps, { ...parent, watched: installationKind }, subInstallationsOf(deps, by, parent, 0))
}

type Parent = Pick<Subject, 'uid' | 'namespace' | 'name'>

function subInstallationsOf(deps: LandscaperDeps, by: By, parent: Parent, ownVersion: number) {
  const asked = { by, subject: parent, state: 'subInstallations', watched: installationKind, ownVersion }
  return declaredChildren(deps, asked)
}

/** The items of an Installation's Execution. @param by the Installation's run. */
export async function readItemsOf(
  deps: LandscaperDeps,
  by: By,
  execution: Execution,
  known: KnownVersions,
): Promise<readonly DeployItem[]> {
  const { uid, namespace, name } = execution.metadata
  const subject = { kind: executionKind.kind, uid, namespace, name }
  const found = itemsOf(deps, { by: { ...by, controller: 'execution' }, subject }, newestKnown(known))
  const items = await readOwned(deps, { ...subject, watched: executionKind }, found)
  return await withNamedItems(deps, execution, found, items)
}

/** The query that finds an Installation's Execution. */
export function executionsOf(
  deps: LandscaperDeps,
  { by, subject }: { readonly by: By; readonly subject: Subject },
): Children<typeof executionKind> {
  return declaredChildren(deps, { by, subject, state: 'execution', watched: executionKind })
}
