// Whose turn has not come: what is asked for, and has not begun.

import type { RunRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { MOST_AHEAD } from '../../../activities/journal/read/limits.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'
import { builtIn } from '../../server/registry.ts'
import { nameOf } from './texts.ts'

type Asking = readonly { readonly object: ObjectRecord; readonly job: JobRecord | undefined }[]

/** In level mode an object waits for its next pass, not for a job. */
const JOB_CONTROLLERS = Object.entries(builtIn.modes).flatMap(([name, mode]) => (mode === 'job' ? [name] : []))

/** Of those that have no open job, which wait for their turn; by uid. */
export async function readTurns(journal: JournalQueries, asking: Asking): Promise<ReadonlyMap<string, QueuePosition>> {
  const idle = asking.filter(({ object, job }) => !object.deleted && job?.outcome !== null)
  return await journal.waitingOf(
    JOB_CONTROLLERS,
    idle.map(({ object }) => object.uid),
  )
}

/** In a few words. */
export function turnText({ ahead }: QueuePosition): string {
  return ahead === 0 ? 'its turn' : `its turn, ${countOf(ahead)} before it`
}

export function turnTold(object: ObjectRecord, { due, ahead }: QueuePosition): string {
  const before = `${ahead === 0 ? 'none' : countOf(ahead)} of its namespace ${ahead === 1 ? 'comes' : 'come'} before it`
  return `${nameOf(object)} waits for its turn since ${due.toISOString()}: ${before}, and namespaces take turns.`
}

function countOf(ahead: number): string {
  return ahead >= MOST_AHEAD ? `${MOST_AHEAD} or more` : String(ahead)
}

/** Of a job's own run. */
export function unbegunTold(object: ObjectRecord, job: JobRecord, run: RunRecord | undefined): readonly string[] {
  if (job.outcome !== null || run === undefined || run.passes > 0) return []
  return [
    `${nameOf(object)} waits for its turn: its run was started ${job.startedAt.toISOString()}, and no worker has begun it yet.`,
  ]
}
