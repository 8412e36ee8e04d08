// Finds which clients other than Pawl's runs wrote versions of objects: in the journal, else in the live object. The live
// object also has the fields that the client manages.

import type { EventRecord } from '../../../activities/journal/read/event-queries.ts'
import type { ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { readConfig } from '../../server/config.ts'
import { type ForeignWrite, foreignWriteAt, readLive, writeOfEvent } from '../live-objects.ts'
import type { UserFlags } from '../user.ts'
import { resourceOfKind } from './explain-status.ts'

interface ObjectVersion {
  readonly object: ObjectRecord
  readonly event: EventRecord
}

/**
 * Reads each object once, with the user's permissions. Versions that runs of Pawl wrote are left out, and live objects are not used for versions whose time
 * the journal knows only from a later list. A failure is reported on stderr.
 *
 * @returns by the event's number.
 */
export async function readForeignWrites(
  versions: readonly ObjectVersion[],
  flags: UserFlags,
): Promise<ReadonlyMap<number, ForeignWrite>> {
  const foreign = versions.filter(({ event: { writer, type } }) => writer === null && type !== 'DELETED')
  const reads = new Map(
    foreign.flatMap(({ object, event }) => {
      const api = resourceOfKind(object)
      return api === undefined || object.deleted || event.source !== 'watch'
        ? []
        : [[object.uid, { ...api, ...object }] as const]
    }),
  )
  const live = await readLive([...reads.values()], flags, readConfig())
  for (const problem of live.problems)
    process.stderr.write(`pawl: the clients that wrote the object are unknown: ${problem}\n`)
  return new Map(
    foreign.flatMap(({ object, event }) => {
      const present = event.source === 'watch' ? live.objects.get(object.uid) : undefined
      const found = writeOfEvent(event, present && foreignWriteAt(present.metadata, event.at, event.type === 'ADDED'))
      return found === undefined ? [] : [[event.seq, found] as const]
    }),
  )
}
