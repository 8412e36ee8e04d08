// When a run is over before its job is, by what its object says or by what a step says: it ends at once when its job is finished, and leaves another
// run's job alone.

import type { Outcome } from '../plan/outcome.ts'
import { GONE, GUARDED, HANDED_DOWN, type ShownJob, SUPERSEDED } from './job.ts'
import { isIdle } from './subject.ts'

/**
 * @param begins whether a job may begin in the run.
 * @returns how the run ends; undefined: there is something to do.
 */
export function verdict(
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
  [GUARDED, 'Guarded'],
  [HANDED_DOWN, 'HandedDown'],
])

/** How a step has ended the run; undefined: it has not. */
export function endBy({ stopped }: Outcome): string | undefined {
  return ENDS.get(stopped)
}
