// The end of a run in job mode: early exit when the object's job has ended or another run has it, and which runs Temporal shows as Failed.
// Source: docs/adr/0022.

import { GONE, FINALIZER_ADDED, HANDED_DOWN, type JobPlan, type ShownJob, SUPERSEDED } from './job.ts'
import type { Outcome } from '../../plan/outcome.ts'
import { isIdle } from '../subject.ts'

/** Error of a failed run: a type for searches and a message. */
export interface RunFailure {
  readonly reason: string
  readonly message: string
}

/**
 * @param failedPhases final phases of failed jobs.
 * @param target the last observed job fields.
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

/** The final phases of failed jobs in a plan. */
export function failedPhases({ phases, failed }: Pick<JobPlan<never>, 'phases' | 'failed'>): readonly string[] {
  return Object.keys(phases).map(failed)
}

function takenOver(jobID: string, found: string | undefined): string {
  if (found === jobID) return `another run continues job ${jobID}`
  return found === undefined ? 'the object has no job any more' : `the object has another job: ${found}`
}

/**
 * @param begins whether the run may start a job.
 * @returns the run's result; undefined to continue.
 */
export function earlyExit(
  target: Omit<ShownJob, 'lastError'>,
  jobID: string,
  { begins }: { readonly begins: boolean },
): string | undefined {
  // The phase may already belong to the next job.
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

/** The run's result after a stop; undefined when the run continues. */
export function exitByStop({ stopped }: Outcome): string | undefined {
  return ENDS.get(stopped)
}
