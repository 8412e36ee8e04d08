// Which runs of jobs end as Failed in Temporal, so that a list of runs says which jobs did: those whose job failed, with the error that the
// object shows, and those whose job was taken over. Source: docs/adr/0022.
// MERGED When a run is over before its job is, by what its object says or by what a step says: it ends at once when its job is finished, and leaves another
// run's job alone.

import { GONE, FINALIZER_ADDED, HANDED_DOWN, type JobPlan, type ShownJob, SUPERSEDED } from './job.ts'
import type { Outcome } from '../../plan/outcome.ts'
import { isIdle } from '../subject.ts'

/** Why a run failed: a word by which failures can be found, and a sentence for people. */
export interface RunFailure {
  readonly reason: string
  readonly message: string
}

/**
 * @param failedPhases in which a job has failed.
 * @param target as the run saw it last.
 * @returns undefined when the run completes.
 */
export function runFailureOf(
  failedPhases: readonly string[],
  result: string,
  jobID: string,
  target: Pick<ShownJob, 'jobID' | 'lastError'> | undefined,
): RunFailure | undefined {
  if (result === 'Superseded') return { reason: result, message: takenOver(jobID, target?.jobID) }
  if (!failedPhases.includes(result)) return undefined
  const { reason, message } = target?.lastError ?? { reason: result, message: `the phase is ${result}` }
  return { reason, message }
}

/** The phases in which jobs of a plan end when they fail. */
export function failedPhases({ phases, failed }: Pick<JobPlan<never>, 'phases' | 'failed'>): readonly string[] {
  return Object.keys(phases).map(failed)
}

function takenOver(jobID: string, found: string | undefined): string {
  if (found === jobID) return `job ${jobID} was taken over while it ran`
  return found === undefined ? 'the object has no job any more' : `the object has another job: ${found}`
}

/**
 * @param begins whether a job may begin in the run.
 * @returns how the run ends; undefined: there is something to do.
 */
export function earlyExit(
  target: Omit<ShownJob, 'lastError'>,
  jobID: string,
  { begins }: { readonly begins: boolean },
): string | undefined {
  // The phase may be the next job's already.
  if (target.jobIDFinished === jobID) return (target.jobID === jobID ? target.phase : undefined) ?? 'Finished'
  if (target.jobID === jobID) return undefined
  return begins && isIdle(target) ? undefined : 'Superseded'
}

const ENDS: ReadonlyMap<string | undefined, string> = new Map([
  [GONE, 'Deleted'],
  [SUPERSEDED, 'Superseded'],
  [FINALIZER_ADDED, 'Guarded'],
  [HANDED_DOWN, 'HandedDown'],
])

/** How a step has ended the run; undefined: it has not. */
export function exitByStop({ stopped }: Outcome): string | undefined {
  return ENDS.get(stopped)
}
