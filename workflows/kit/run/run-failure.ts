// Which runs of jobs end as Failed in Temporal, so that a list of runs says which jobs did: those whose job failed, with the error that the
// object shows, and those whose job was taken over. Source: docs/adr/0022.

import type { JobPlan } from './job.ts'
import type { TargetView } from './subject.ts'

/** Why a run failed: a word by which failures can be found, and a sentence for people. */
export interface RunFailure {
  readonly reason: string
  readonly message: string
}

/** @param target as the run saw it last. @returns undefined when the run completes. */
export function failureOf(
  { phases, failed }: Pick<JobPlan<never>, 'phases' | 'failed'>,
  result: string,
  jobID: string,
  target: Pick<TargetView, 'jobID' | 'lastError'> | undefined,
): RunFailure | undefined {
  if (result === 'Superseded') return { reason: result, message: takenOver(jobID, target?.jobID) }
  if (!Object.keys(phases).some((phase) => failed(phase) === result)) return undefined
  const { reason, message } = target?.lastError ?? { reason: result, message: `the phase is ${result}` }
  return { reason, message }
}

function takenOver(jobID: string, found: string | undefined): string {
  if (found === jobID) return `job ${jobID} was taken over while it ran`
  return found === undefined ? 'the object has no job any more' : `the object has another job: ${found}`
}
