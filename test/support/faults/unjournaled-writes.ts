// Which writes of a run the journal lacks: every version that the API server has given out is an event, and every one of them is told of the run
// that wrote it.

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { RecordedWrite } from './api-proxy.ts'
import type { Pawl } from '../pawl/pawl.ts'

// Written, and not followed: nobody sees them change but who writes them.
const UNFOLLOWED = new Set(['secrets', 'events'])

export function isUnwatched({ label }: Pick<RecordedWrite, 'label'>): boolean {
  return UNFOLLOWED.has(label.split(' ')[1] ?? '')
}

/** The writes of an Installation's last run that changed something and that no event tells of, or one that names nobody, as `label name: what is wrong`. */
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
    // The end of the last finalizer has no version of its own.
    const told = events.filter((event) =>
      isGone(answer) ? event.type === 'DELETED' : event.resource_version === Number(resourceVersion),
    )
    const own = told.filter((event) => event.uid === uid)
    if (own.length === 0) return [`${label} ${answer.metadata.name}: no event of version ${resourceVersion ?? '?'}`]
    const writers = own.map(({ writer }) => writer)
    return writers.includes(workflow_id) ? [] : [`${label} ${answer.metadata.name}: by ${writers.join(', ')}`]
  })
}

function isGone({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
}
