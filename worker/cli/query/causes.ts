// What led to a job, from event to event: the event that began it, the run that wrote this event, the job of that run, and so on up to somebody who is
// not Pawl.

import type { EventRecord, RunRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { jobIDIn } from './format.ts'

/** A job and what began it. */
export interface Cause {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  /** Undefined: the journal does not have it any more. */
  readonly trigger: EventRecord | undefined
  /** The state before it. */
  readonly before: EventRecord | undefined
  /** The run that wrote the trigger. */
  readonly run: RunRecord | undefined
  /** The write of that run. */
  readonly write: WriteRecord | undefined
}

const MOST_HOPS = 16

/** The nearest first. */
export async function readCauses(
  journal: JournalQueries,
  object: ObjectRecord,
  job: JobRecord | undefined,
): Promise<readonly Cause[]> {
  const causes: Cause[] = []
  const seen = new Set<string>()
  let at: { readonly object: ObjectRecord; readonly job: JobRecord | undefined } | undefined = { object, job }
  while (at !== undefined && causes.length < MOST_HOPS && !seen.has(at.object.uid)) {
    seen.add(at.object.uid)
    const cause: Cause = await readCause(journal, at.object, at.job)
    causes.push(cause)
    at = cause.run === undefined ? undefined : await subjectOf(journal, cause.run)
  }
  return causes
}

async function subjectOf(journal: JournalQueries, run: RunRecord) {
  const object = await journal.objectOf(run.uid)
  if (object === undefined) return undefined
  const [job] = await journal.jobsOf(run.uid, { workflowID: run.workflowID })
  // Without its job nothing says which of its versions led to the run.
  return job === undefined ? undefined : { object, job }
}

async function readCause(journal: JournalQueries, object: ObjectRecord, job: JobRecord | undefined): Promise<Cause> {
  const versions = versionsIn(await journal.eventsOf(object.uid))
  const trigger = triggerOf(versions, job)
  const before = trigger === undefined ? undefined : versions[versions.indexOf(trigger) - 1]
  const writer = trigger?.writer ?? undefined
  const run = writer === undefined ? undefined : await journal.runOf(writer)
  const writes = writer === undefined ? [] : await journal.writesOf(writer, actionName(object))
  const write = writes.find(({ version }) => version === trigger?.version)
  return { object, job, trigger, before, run, write }
}

/** As actions name objects. */
export function actionName(object: ObjectRecord): string {
  return `${groupKindText(object)}/${object.namespace}/${object.name}`
}

/** The events that changed something of what the journal keeps. */
export function versionsIn(events: readonly EventRecord[]): readonly EventRecord[] {
  return events.filter(
    ({ projection, type, outcome }) =>
      outcome !== 'stale' && (type === 'DELETED' || Object.keys(projection).length > 0),
  )
}

/**
 * The event that began a job. Of a hosted one it is that which handed its ID out. Another one hands its ID out itself, and what came before from
 * somebody else began it.
 */
export function triggerOf(versions: readonly EventRecord[], job: JobRecord | undefined): EventRecord | undefined {
  if (job === undefined) return versions.at(-1)
  const handed = versions.findIndex(({ projection }) => job.jobID !== '' && jobIDIn(projection) === job.jobID)
  const isOwn = versions[handed]?.writer === job.workflowID && job.cause !== 'hosted'
  if (handed !== -1 && !isOwn) return versions[handed]
  const earlier = handed === -1 ? versions.filter(({ at }) => at <= job.startedAt) : versions.slice(0, handed)
  return earlier.findLast(({ writer, outcome }) => writer !== job.workflowID && outcome === 'wake')
}
