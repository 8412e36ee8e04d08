// Finds writes of a run that the journal lacks. Each version of an object must be an event in the journal, with the run that wrote it.

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { RecordedWrite } from './http-proxy.ts'
import type { Pawl } from '../pawl/pawl.ts'

// The bridge does not watch these kinds.
const UNFOLLOWED = new Set(['secrets', 'events'])

export function isUnwatched({ label }: Pick<RecordedWrite, 'label'>): boolean {
  return UNFOLLOWED.has(label.split(' ')[1] ?? '')
}

/** The effective writes of an Installation's last run without an event, or with an event of another writer, as `label name: problem`. */
export async function findUnjournaledWrites(
  { db }: Pawl,
  name: string,
  writes: readonly RecordedWrite[],
): Promise<readonly string[]> {
  const { workflow_id } = await db
    .selectFrom('job')
    .select('workflow_id')
    .where('name', '=', name)
    .orderBy('started_at', 'desc')
    .executeTakeFirstOrThrow()
  const events = await db.selectFrom('watch_event').select(['uid', 'resource_version', 'type', 'writer']).execute()
  const done = writes.filter((write) => write.status < 300 && !isUnwatched(write))
  return done.flatMap(({ label, answer }) => {
    const { uid, resourceVersion } = answer.metadata
    // The removal of the last finalizer has no version.
    const sameVersion = events.filter((event) =>
      isDeleted(answer) ? event.type === 'DELETED' : event.resource_version === Number(resourceVersion),
    )
    const own = sameVersion.filter((event) => event.uid === uid)
    if (own.length === 0) return [`${label} ${answer.metadata.name}: no event of version ${resourceVersion ?? '?'}`]
    const writers = own.map(({ writer }) => writer)
    return writers.includes(workflow_id) ? [] : [`${label} ${answer.metadata.name}: by ${writers.join(', ')}`]
  })
}

function isDeleted({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
}
