// Which runs of jobs end as Failed in Temporal, so that a list of runs says which jobs did: those whose job failed, with the error that the
// object shows, and those whose job was taken over. Source: docs/adr/0022.

import type { JobPlan, ShownJob } from './job.ts'

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
export function failureOf(
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
