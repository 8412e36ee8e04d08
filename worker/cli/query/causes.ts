// Finds the chain of causes of a job: the event that triggered it, the run that wrote the event's version, the job of
// this run, and so on up to a write by a client other than Pawl.

import type { EventRecord, RunRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalQueries } from '../../../activities/journal/read/queries.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { jobIDIn } from './format.ts'

/** A job and the event that triggered it. */
export interface Cause {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
  /** Undefined if the journal no longer has the event. */
  readonly trigger: EventRecord | undefined
  /** The version before the trigger. */
  readonly before: EventRecord | undefined
  /** The run that wrote the trigger's version. */
  readonly run: RunRecord | undefined
  /** The write of this run. */
  readonly write: WriteRecord | undefined
}

const MOST_HOPS = 16

/** The nearest cause first. */
export async function readCauses(
  journal: JournalQueries,
  object: ObjectRecord,
  job: JobRecord | undefined,
): Promise<readonly Cause[]> {
  const causes: Cause[] = []
  const seen = new Set<string>()
  let current: { readonly object: ObjectRecord; readonly job: JobRecord | undefined } | undefined = { object, job }
  while (current !== undefined && causes.length < MOST_HOPS && !seen.has(current.object.uid)) {
    seen.add(current.object.uid)
    const cause: Cause = await readCause(journal, current.object, current.job)
    causes.push(cause)
    current = cause.run === undefined ? undefined : await subjectOf(journal, cause.run)
  }
  return causes
}

async function subjectOf(journal: JournalQueries, run: RunRecord) {
  const object = await journal.objectOf(run.uid)
  if (object === undefined) return undefined
  const [job] = await journal.jobsOf(run.uid, { workflowID: run.workflowID })
  // Without the job, the version that triggered the run is unknown.
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

/** The object's name in rows of writes. */
export function actionName(object: ObjectRecord): string {
  return `${groupKindText(object)}/${object.namespace}/${object.name}`
}

/** The events that changed stored fields. */
export function versionsIn(events: readonly EventRecord[]): readonly EventRecord[] {
  return events.filter(
    ({ projection, type, outcome }) =>
      outcome !== 'stale' && (type === 'DELETED' || Object.keys(projection).length > 0),
  )
}

/**
 * The event that triggered a job. A hosted job is triggered by the event that assigned its job ID. A root assigns its
 * own ID, so the last event before that by another client or another object's run triggered it: a write of the object's previous job starts no job.
 */
export function triggerOf(versions: readonly EventRecord[], job: JobRecord | undefined): EventRecord | undefined {
  if (job === undefined) return versions.at(-1)
  const handed = versions.findIndex(({ projection }) => job.jobID !== '' && jobIDIn(projection) === job.jobID)
  const isOwn = versions[handed]?.writer === job.workflowID && job.cause !== 'hosted'
  if (handed !== -1 && !isOwn) return versions[handed]
  const earlier =
    handed === -1 ? versions.filter(({ at: current }) => current <= job.startedAt) : versions.slice(0, handed)
  return earlier.findLast(({ writer, outcome }) => !isRunOfSameObject(writer, job) && outcome === 'wake')
}

/** The workflow ID of a job consists of the workflow ID of its object and the job ID. */
function isRunOfSameObject(writer: string | null, { workflowID, jobID }: JobRecord): boolean {
  if (writer === null || writer === workflowID) return writer !== null
  return jobID !== '' && workflowID.endsWith(`/${jobID}`) && writer.startsWith(workflowID.slice(0, -jobID.length))
}
