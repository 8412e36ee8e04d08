// Finds the object that a command line names, and its job, in the journal.

import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { JournalSession } from './open-journal.ts'
import { objectNamed } from './object-name.ts'
import { isOver } from './job-tree.ts'
import { jobIDIn, quotedName, singleLine } from './format.ts'
import { missingInJournal } from '../missing-object.ts'

/** All objects that had this name, existing objects first. @throws an Error that names the object. */
export async function findObjects(
  journal: JournalSession,
  words: readonly string[],
): Promise<readonly [ObjectRecord, ...ObjectRecord[]]> {
  const { namespace } = journal
  const { kind, name } = objectNamed(words, journal.kinds)
  const of = { group: kind.group, kind: kind.kind, name }
  const near = await journal.objectsNamed({ ...of, namespace })
  // Objects of cluster-scoped kinds have no namespace.
  const [first, ...rest] = near.length > 0 ? near : await journal.objectsNamed({ ...of, namespace: '' })
  if (first === undefined) throw new Error(await missingInJournal(journal, kind, name))
  return [first, ...rest]
}

export interface FoundJob {
  readonly object: ObjectRecord
  readonly job: JobRecord | undefined
}

/**
 * The job that the object's status names. The newest run may have had no job, and jobs of hosted items are not in the
 * journal.
 */
async function current(
  journal: JournalSession,
  object: ObjectRecord,
  newest: JobRecord | undefined,
): Promise<JobRecord | undefined> {
  if (newest === undefined || object.deleted || !isOver(object, newest)) return newest
  const jobID = jobIDIn(object.projection)
  if (jobID === undefined) return newest
  const [job] = await journal.jobsOf(object.uid, { jobID })
  return job
}

/**
 * The newest job of the object, or the job with this ID, which may belong to an earlier object with the same name. An
 * object may have no job.
 *
 * @throws an Error if no job has the ID.
 */
export async function findJob(journal: JournalSession, words: readonly string[], jobID?: string): Promise<FoundJob> {
  const objects = await findObjects(journal, words)
  for (const object of jobID === undefined ? objects.slice(0, 1) : objects) {
    const [job] = await journal.jobsOf(object.uid, { jobID })
    if (jobID === undefined) return { object, job: await current(journal, object, job) }
    if (job !== undefined) return { object, job }
  }
  const known = (await journal.jobsOf(objects[0].uid)).slice(0, 5).map((job) => job.jobID)
  const hint = known.length === 0 ? 'the object has no job yet' : `the newest jobs are ${known.join(', ')}`
  throw new Error(`${quotedName(objects[0])}: job "${singleLine(jobID ?? '', 200)}" is not in the journal; ${hint}`)
}
