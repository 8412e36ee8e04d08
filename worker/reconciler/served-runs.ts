// What a run that this process starts serves. Source: docs/adr/0027.

import type { Kysely } from 'kysely'
import type { Database } from '../../activities/journal/database.ts'
import { servedBy } from '../../activities/journal/write/jobs.ts'
import { isPartitionHandled } from '../../workflows/kit/index.ts'
import { type LaneShare, servesOf } from './lanes.ts'
import type { Run } from './runs.ts'

/** The run, serving what this process does. */
export function serving(run: Run, shares: readonly LaneShare[] = []): Run {
  const serves = servesOf(shares, run.controller)
  return serves === undefined ? run : { ...run, input: { ...run.input, serves } }
}

/** A job that is begun again serves what it did, as far as this process can: what it left to others may be at work there. */
export async function goingOn(db: Kysely<Database>, run: Run, shares?: readonly LaneShare[]): Promise<Run> {
  const ours = serving(run, shares)
  const serves = (await servedBy(db, run.workflowID)) ?? undefined
  const canGoOn = serves?.every((lane) => isPartitionHandled(ours.input.serves, lane)) === true
  return canGoOn ? { ...ours, input: { ...ours.input, serves } } : ours
}
