// What led to a job, from event to event: the event that began it, the run that wrote this event, the job of that run, and so on up to somebody who is
// not Pawl.

import type { AskedEvent, AskedRun, AskedWrite } from '../../../activities/journal/read/asked-events.ts'
import type { AskedJob, AskedObject } from '../../../activities/journal/read/asked-objects.ts'
import type { Questions } from '../../../activities/journal/read/questions.ts'
import { groupKindText } from '../../../workflows/kit/index.ts'
import { jobIDIn } from './format.ts'

/** A job and what began it. */
export interface Cause {
  readonly object: AskedObject
  readonly job: AskedJob | undefined
  /** Undefined: the journal does not have it any more. */
  readonly trigger: AskedEvent | undefined
  /** The state before it. */
  readonly before: AskedEvent | undefined
  /** The run that wrote the trigger. */
  readonly run: AskedRun | undefined
  /** The write of that run. */
  readonly write: AskedWrite | undefined
}

const MOST_HOPS = 16

/** The nearest first. */
export async function readCauses(
  journal: Questions,
  object: AskedObject,
  job: AskedJob | undefined,
): Promise<readonly Cause[]> {
  const causes: Cause[] = []
  const seen = new Set<string>()
  let current: { readonly object: AskedObject; readonly job: AskedJob | undefined } | undefined = { object, job }
  while (current !== undefined && causes.length < MOST_HOPS && !seen.has(current.object.uid)) {
    seen.add(current.object.uid)
    const cause: Cause = await readCause(journal, current.object, current.job)
    causes.push(cause)
    current = cause.run === undefined ? undefined : await subjectOf(journal, cause.run)
  }
  return causes
}

async function subjectOf(journal: Questions, run: AskedRun) {
  const object = await journal.objectOf(run.uid)
  if (object === undefined) return undefined
  const [job] = await journal.jobsOf(run.uid, { workflowID: run.workflowID })
  // Without its job nothing says which of its versions led to the run.
  return job === undefined ? undefined : { object, job }
}

async function readCause(journal: Questions, object: AskedObject, job: AskedJob | undefined): Promise<Cause> {
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
export function actionName(object: AskedObject): string {
  return `${groupKindText(object)}/${object.namespace}/${object.name}`
}

/** The events that changed something of what the journal keeps. */
export function versionsIn(events: readonly AskedEvent[]): readonly AskedEvent[] {
  return events.filter(
    ({ projection, type, outcome }) =>
      outcome !== 'stale' && (type === 'DELETED' || Object.keys(projection).length > 0),
  )
}

/**
 * The event that began a job. Of a hosted one it is that which handed its ID out. Another one hands its ID out itself, and what came before from
 * somebody else began it.
 */
export function triggerOf(versions: readonly AskedEvent[], job: AskedJob | undefined): AskedEvent | undefined {
  if (job === undefined) return versions.at(-1)
  const handed = versions.findIndex(({ projection }) => job.jobID !== '' && jobIDIn(projection) === job.jobID)
  const isOwn = versions[handed]?.writer === job.workflowID && job.cause !== 'hosted'
  if (handed !== -1 && !isOwn) return versions[handed]
  const earlier =
    handed === -1 ? versions.filter(({ at: current }) => current <= job.startedAt) : versions.slice(0, handed)
  return earlier.findLast(({ writer, outcome }) => writer !== job.workflowID && outcome === 'wake')
}
