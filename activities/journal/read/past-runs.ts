// The runs of a time that is over or goes on: what an upgrade is tried with.

import type { Journal } from './reader.ts'

export interface PastRun {
  readonly workflowID: string
  readonly controller: string
  readonly namespace: string
  readonly name: string
  /** Null: it goes on. */
  readonly outcome: string | null
  readonly startedAt: Date
}

/** So many runs at most, the newest. */
export const MOST_PAST_RUNS = 10_000

/** Those that have begun since then, the earliest first. @param namespace undefined: all. */
export async function pastRuns(
  { db, cluster }: Journal,
  since: Date,
  namespace: string | undefined,
): Promise<readonly PastRun[]> {
  const rows = await db
    .selectFrom('job')
    .select(['workflow_id as workflowID', 'controller', 'namespace', 'name', 'outcome', 'started_at as startedAt'])
    .where('cluster', '=', cluster)
    .where('started_at', '>=', since)
    // Temporal has not been asked to start it yet.
    .where('run_id', 'is not', null)
    .$if(namespace !== undefined, (query) => query.where('namespace', '=', namespace ?? ''))
    .orderBy('started_at', 'desc')
    .limit(MOST_PAST_RUNS)
    .execute()
  return rows.toReversed()
}
