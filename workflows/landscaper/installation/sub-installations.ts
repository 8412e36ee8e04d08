// The sub-installations of a job: the run's view of them, and the steps that concern only them. Source: spec/landscaper.md 2.3 "CleanupOrphaned",
// "ObjectsCreated", 2.4.

import type { SubsResult } from '../../../activities/landscaper/installation/sub-installations.ts'
import type { ChildExecution, InstallationView } from '../../../activities/landscaper/installation/views.ts'
import { again, done, fail, isIdle, type Outcome, stop } from '../../kit/index.ts'
import { formatPause } from '../pause.ts'
import { shortList } from '../short-list.ts'
import { SUB_INSTALLATIONS_CONDITION } from './kind.ts'
import { type InstallationPass, withSubChanges } from './pass.ts'

/** Applies the result of a write to the state. */
export function applySubsResult(pass: InstallationPass, { changed, gone }: SubsResult): void {
  const { subInstallations } = pass.state
  pass.state = { ...pass.state, subInstallations: withSubChanges(subInstallations, { changed, gone }) }
}

/** Hands the job down to sub-installations that are being deleted, and waits until they are deleted. */
export async function cleanUpSubInstallations(pass: InstallationPass): Promise<Outcome> {
  const { jobID } = pass
  const leaving = () => pass.state.subInstallations.filter(({ deleting }) => deleting)
  if (leaving().length === 0) return done
  const untold = leaving().filter((sub) => sub.jobID !== jobID && isIdle(sub))
  // Without an order among successors: these are created again, or did not depend on the deleted object.
  if (untold.length > 0) await handDown(pass, untold, { ignoresSuccessors: true })
  const left = leaving()
  if (left.length === 0) return done
  const unfinished = left.filter((sub) => sub.jobIDFinished !== jobID)
  if (unfinished.length > 0)
    return stop(`waiting until these sub-installations are uninstalled: ${formatNames(unfinished)}`)
  const message = `Pawl could not uninstall sub-installations: ${shortList(left.map(formatSub)).join(' | ')}`
  pass.draft.conditions.push({
    type: SUB_INSTALLATIONS_CONDITION,
    status: 'False',
    reason: 'InstallationNotDeleted',
    message,
  })
  return fail('OrphanedSubInstallations', message, childCodes(undefined, left))
}

/** Hands the job down to all sub-installations. A sub-installation that a user has deleted meanwhile is uninstalled in this job. */
export async function triggerSubInstallations(pass: InstallationPass): Promise<Outcome> {
  const { state, jobID } = pass
  const { target } = state
  // The status has the rendered generation and the names of the sub-installations before a sub-installation or an item starts, so that a run after a
  // lost one does not render again.
  if (!target.deleting && target.phase !== 'ObjectsCreated' && hasAny(pass)) return again(0)
  const waiting = state.subInstallations.filter((sub) => sub.jobID !== jobID)
  if (waiting.length === 0) return done
  const idle = waiting.filter(isIdle)
  if (idle.length > 0 && target.paused !== undefined)
    return stop(`${formatPause(target.paused)}; not started: ${formatNames(idle)}`)
  if (idle.length > 0) await handDown(pass, idle, { ignoresSuccessors: false })
  const busy = waiting.filter((sub) => !isIdle(sub))
  return busy.length === 0
    ? done
    : stop(`waiting until sub-installations have finished another job: ${formatNames(busy)}`)
}

/** Whether the job has sub-installations, or the previous job had some. */
function hasAny({ state: { subInstallations, wantedSubs = [], target } }: InstallationPass): boolean {
  return subInstallations.length + wantedSubs.length + target.activeSubs.length > 0
}

async function handDown(
  pass: InstallationPass,
  subs: readonly InstallationView[],
  { ignoresSuccessors }: { readonly ignoresSuccessors: boolean },
): Promise<void> {
  const { by, subject, jobID, act } = pass
  const subInstallations = subs.map(asChild)
  applySubsResult(pass, await act.triggerSubInstallations({ by, subject, jobID, subInstallations, ignoresSuccessors }))
}

/** The fields of a sub-installation that activities need. */
export function asChild({ uid, name, version, jobID, interruptRequested, heldBy }: InstallationView) {
  return { uid, name, version, jobID, interruptRequested, ...(heldBy !== undefined && { heldBy }) }
}

/** Formats the names for a message; at most ten. */
export function formatNames(subs: readonly InstallationView[]): string {
  return shortList(subs.map(({ name }) => name)).join(', ')
}

/** The distinct error codes of the children. Source: spec/landscaper.md 1.16. */
export function childCodes(
  execution: ChildExecution | undefined,
  subs: readonly InstallationView[],
): readonly string[] {
  return [...new Set([...(execution?.codes ?? []), ...subs.flatMap(({ codes = [] }) => codes)])]
}

/** The phase of a child as the verb of a message. */
export function formatPhase(phase: string | undefined): string {
  if (phase === 'Failed') return 'failed'
  return phase === 'DeleteFailed' ? 'could not be deleted' : `is ${phase ?? 'unfinished'}`
}

/** Formats the state of a sub-installation with its error. */
export function formatSub({ name, phase, error }: InstallationView): string {
  const found = `Installation "${name}" ${formatPhase(phase)}`
  return error === undefined ? found : `${found}: ${error}`
}
