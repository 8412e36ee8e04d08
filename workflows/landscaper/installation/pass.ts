// Types of the Installation's passes, in addition to controller.gen.ts: its activities, and the state that a run remembers.

import type { Activities } from '../../../activities/index.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { TemplateObject } from '../../../activities/landscaper/installation/apply-sub-installations.ts'
import type { SubsResult } from '../../../activities/landscaper/installation/sub-installations.ts'
import type { ChildExecution, InstallationView } from '../../../activities/landscaper/installation/views.ts'
import type { By, HostedProgress, JobInput, JobPass } from '../../kit/index.ts'
import type { ExecutionState } from '../execution/pass.ts'
import type { InstallationObservation } from './controller.gen.ts'
import { versionsOf, withChanges } from '../execution/observe-execution.ts'

export interface InstallationState extends InstallationObservation {
  /** The items of the Execution. */
  readonly deployItems: readonly DeployItemView[]
  /** The result of starting the job in the run's first pass; undefined in later passes, and if the job had started. */
  readonly start?: 'begun' | 'superseded' | undefined
  /** Whether this run has removed the request annotation; an annotation that exists afterwards belongs to the next job. */
  readonly isAdopted: boolean
  /** The sub-installations of the templates that this run has rendered; undefined before the rendering: then the status names them. */
  readonly wantedSubs?: readonly TemplateObject[] | undefined
}

/** The result of a pass over a hosted Execution. */
export type ExecutionProgress = HostedProgress<ExecutionState>

export type InstallationActivities = WritingActivities & {
  /** Runs a pass over the Execution, nested in the pass of the Installation. */
  runExecution(
    pass: Pick<InstallationPass, 'by' | 'jobID' | 'subject' | 'hosted'>,
    state: ExecutionState & { readonly target: ChildExecution },
  ): Promise<ExecutionProgress>
  /** The Execution's items as the run knows them, including changes by background activities between passes. */
  itemsOfExecution(): readonly DeployItemView[]
}

type WritingActivities = Pick<
  Activities,
  | 'observeInstallation'
  | 'startInstallation'
  | 'adoptInstallation'
  | 'guardSubject'
  | 'forgetInterrupt'
  | 'applyChildren'
  | 'deleteExecution'
  | 'triggerSubInstallations'
  | 'interruptSubInstallations'
  | 'holdSubInstallations'
  | 'tellPause'
  | 'deleteSubInstallations'
  | 'lookForSuccessors'
  | 'triggerDependents'
  | 'askLeftDependents'
  | 'interruptInstallation'
  | 'writeExports'
>

export type InstallationPass = JobPass<InstallationState, InstallationActivities>

type Act = Pick<InstallationActivities, 'startInstallation' | 'observeInstallation' | 'itemsOfExecution'>

/** Observes the Installation and its children. The first pass of a run starts the job in the same activity. */
export async function observeInstallation(
  act: Act,
  { subject, jobID, asked }: JobInput,
  by: By,
  latest: () => InstallationState | undefined,
): Promise<InstallationState | undefined> {
  const before = latest()
  const isFirst = before === undefined
  const knownSubs = Object.fromEntries((before?.subInstallations ?? []).map(({ uid, version }) => [uid, version]))
  const {
    target,
    execution,
    start,
    subInstallations: subs,
    ...news
  } = isFirst
    ? await act.startInstallation({ by, subject, jobID, asked })
    : {
        ...(await act.observeInstallation({ by, subject, known: versionsOf(act.itemsOfExecution()), knownSubs })),
        start: undefined,
      }
  if (target === undefined) return undefined
  const { isAdopted = false, wantedSubs } = latest() ?? {}
  return {
    target,
    execution,
    start,
    isAdopted,
    wantedSubs,
    subInstallations: withSubChanges(latest()?.subInstallations ?? [], subs),
    deployItems: withChanges(act.itemsOfExecution(), news),
  }
}

/** Sorted by name, so that every pass handles the sub-installations in the same order. */
export function withSubChanges(
  known: readonly InstallationView[],
  { changed, gone }: Pick<SubsResult, 'changed' | 'gone'>,
): readonly InstallationView[] {
  const byUid = new Map(known.filter(({ uid }) => !gone.includes(uid)).map((one) => [one.uid, one]))
  for (const one of changed) byUid.set(one.uid, one)
  return [...byUid.values()].sort((left, right) => (left.name < right.name ? -1 : 1))
}
