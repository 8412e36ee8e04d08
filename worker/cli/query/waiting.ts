// Explains why an object does not proceed: it is paused or skipped, or its job is queued behind other jobs.

import {
  annotation,
  groupKindOf,
  groupKindText,
  type Path,
  type Projection,
  textAt,
  valueAt,
} from '../../../workflows/kit/index.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { formatTime, nameOf, singleLine } from './format.ts'
import type { RunRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { MOST_AHEAD } from '../../../activities/journal/read/limits.ts'
import type { QueuePosition } from '../../../activities/journal/read/wake-queue.ts'

const STEERING = new Map(
  [...builtInRegistry.controllers.values()].flatMap((controller) => {
    if (controller.mode !== 'job' || controller.steering === undefined) return []
    return [[groupKindText(groupKindOf(controller.target)), controller.steering] as const]
  }),
)

type PausableObject = Parameters<typeof nameOf>[0] & { readonly group: string; readonly projection: Projection }

/**
 * A few words; undefined if the object is not paused. The status counts, or the annotation if no run has handled it
 * yet.
 */
export function pausedText({ group, kind, projection }: PausableObject): string | undefined {
  const { pause: pausing, skip } = STEERING.get(groupKindText({ group, kind })) ?? {}
  if (skip !== undefined) return skippedText(textAt(projection, annotation(skip)))
  if (pausing === undefined) return undefined
  if (valueAt(projection, pausing.statusPath) !== undefined) return statusPauseText(projection, pausing.statusPath)
  const value = textAt(projection, annotation(pausing.annotation)) ?? ''
  return value === '' || value === 'false' ? undefined : `paused: ${singleLine(value, 200)}`
}

function statusPauseText(projection: Projection, at: Path): string {
  const [by, since, reason] = ['by', 'since', 'reason'].map((key) => textAt(projection, [...at, key]))
  const why = reason === undefined || reason === 'true' || reason.startsWith('parent:') ? '' : `: ${reason}`
  return singleLine(`paused by ${by ?? 'somebody'}${since === undefined ? '' : ` since ${since}`}${why}`, 400)
}

function skippedText(value = ''): string | undefined {
  if (value.trim() === '' || value === 'false') return undefined
  return `left out${value === 'true' ? '' : `: ${singleLine(value, 200)}`}`
}

/** As sentences. */
export function pauseSentences(object: PausableObject): readonly string[] {
  const text = pausedText(object)
  if (text?.startsWith('left out') === true) return [`${nameOf(object)} is ${text} (pawl skip --undo).`]
  return text === undefined
    ? []
    : [`${nameOf(object)} is ${text}; its parts that have not started wait for pawl resume.`]
}

// Objects with their newest jobs.

type ObjectsWithJobs = readonly { readonly object: ObjectRecord; readonly job: JobRecord | undefined }[]

/** In level mode an object waits for its next pass, not for a job. */
const JOB_CONTROLLERS = Object.entries(builtInRegistry.modes).flatMap(([name, mode]) => (mode === 'job' ? [name] : []))

/** The queue positions of objects without an open job, by uid. */
export async function readQueuePositions(
  journal: JournalQueries,
  asking: ObjectsWithJobs,
): Promise<ReadonlyMap<string, QueuePosition>> {
  const idle = asking.filter(({ object, job }) => !object.deleted && job?.outcome !== null)
  return await journal.waitingOf(
    JOB_CONTROLLERS,
    idle.map(({ object }) => object.uid),
  )
}

/** A few words. */
export function queueText({ ahead }: QueuePosition): string {
  return ahead === 0 ? 'its turn' : `its turn, ${countOf(ahead)} before it`
}

export function queueSentence(object: ObjectRecord, { due, ahead }: QueuePosition, now: Date): string {
  const before = `${ahead === 0 ? 'no object' : countOf(ahead)} of its namespace ${ahead <= 1 ? 'comes' : 'come'} before it`
  return `${nameOf(object)} waits for its turn since ${formatTime(due, now)}: ${before}, and namespaces take turns.`
}

function countOf(ahead: number): string {
  return ahead >= MOST_AHEAD ? `${MOST_AHEAD} or more` : String(ahead)
}

/** For a job with its own run that no worker has started. */
export function notStartedSentences(
  object: ObjectRecord,
  job: JobRecord,
  { run, now }: { readonly run: RunRecord | undefined; readonly now: Date },
): readonly string[] {
  if (job.outcome !== null || run === undefined || run.passes > 0) return []
  return [
    `${nameOf(object)} waits for a worker: its run was created at ${formatTime(job.startedAt, now)}, and no worker has started it.`,
  ]
}
