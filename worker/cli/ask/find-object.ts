// The object that the words of a command line mean, and its job, as the journal has them.

import {
  type AskedJob,
  type AskedObject,
  jobsOf,
  objectsNamed,
} from '../../../activities/journal/read/asked-objects.ts'
import type { Asked } from './open-journal.ts'
import { objectNamed } from './object-name.ts'
import { nameOf } from './texts.ts'

/** All that had the name, first what lives. @throws with what was looked for. */
export async function findObjects(
  { db, cluster, namespace, kinds }: Asked,
  words: readonly string[],
): Promise<readonly [AskedObject, ...AskedObject[]]> {
  const { kind, name } = objectNamed(words, kinds)
  const of = { cluster, group: kind.group, kind: kind.kind, name }
  const near = await objectsNamed(db, { ...of, namespace })
  // Of a kind without namespaces all lie in none.
  const [first, ...rest] = near.length > 0 ? near : await objectsNamed(db, { ...of, namespace: '' })
  if (first === undefined)
    throw new Error(
      `the journal has no ${nameOf({ kind: kind.kind, namespace, name })} in cluster ${cluster}; expected one that the bridge has seen (see pawl get ${kind.names[0] ?? ''} -A)`,
    )
  return [first, ...rest]
}

/** The job with this ID, else the newest. @throws when there is no such job. */
export async function findJob({ db }: Asked, object: AskedObject, jobID?: string): Promise<AskedJob | undefined> {
  const jobs = await jobsOf(db, object.uid)
  if (jobID === undefined) return jobs[0]
  const found = jobs.find((job) => job.jobID === jobID)
  if (found !== undefined) return found
  const known = jobs.slice(0, 5).map((job) => job.jobID)
  throw new Error(
    `${nameOf(object)} has no job '${jobID}' in the journal, expected one of ${known.join(', ') || 'none'}`,
  )
}
