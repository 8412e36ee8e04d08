// Reads from the API server which clients other than Pawl wrote versions of objects: the journal stores no field managers.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { readConfig } from '../../server/config.ts'
import { type ForeignWrite, foreignWriteAt, readLive } from '../live-objects.ts'
import type { UserFlags } from '../user.ts'
import { resourceOfKind } from './explain-status.ts'

interface ObjectVersion {
  readonly object: ObjectRecord
  readonly event: EventRecord
}

/**
 * Reads each object once, with the user's permissions. Versions that Pawl wrote, and versions whose time the journal knows only from a later list, are
 * left out. A failure is reported on stderr.
 *
 * @returns by the event's number.
 */
export async function readForeignWrites(
  versions: readonly ObjectVersion[],
  flags: UserFlags,
): Promise<ReadonlyMap<number, ForeignWrite>> {
  const foreign = versions.filter(
    ({ object, event: { writer, source, type } }) =>
      !object.deleted && writer === null && source === 'watch' && type !== 'DELETED',
  )
  const reads = new Map(
    foreign.flatMap(({ object }) => {
      const api = resourceOfKind(object)
      return api === undefined ? [] : [[object.uid, { ...api, ...object }]]
    }),
  )
  const live = await readLive([...reads.values()], flags, readConfig())
  for (const problem of live.problems)
    process.stderr.write(`pawl: the clients that wrote the object are unknown: ${problem}\n`)
  return new Map(
    foreign.flatMap(({ object, event }) => {
      const present = live.objects.get(object.uid)
      const found = present && foreignWriteAt(present.metadata, event.at, event.type === 'ADDED')
      return found === undefined ? [] : [[event.seq, found]]
    }),
  )
}
