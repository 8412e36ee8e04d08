// Lists a kind anew: the beginning of an epoch.
//
//   L1. Pages are journaled as they come; the checkpoint moves last. A crash in between leads to another list.
//   L2. What the list lacks is deleted by uid, and only when the known state is not newer than the list.
//   L3. A list older than the checkpoint says that the cluster went back in time: then the list decides about every row (rewindObjects).
//   L4. What the journal knows in this version gets no row of its own, as in feed.ts (F3), unless other fields are declared since it was written down:
//       after an upgrade the next list brings them, also of objects that nobody touches.

import { checkReceivedEvents, readProjections, versionKey } from '../../activities/journal/read/received-events.ts'
import { objectsUpToVersion, rewindObjects } from '../../activities/journal/write/checkpoints.ts'
import type { EventBatch } from '../../activities/journal/write/events.ts'
import { sameProjection } from '../../activities/journal/write/classify.ts'
import { type MissedDeletion, projectionOf, type ObjectEvent } from '../../activities/journal/write/incoming-events.ts'
import { journalSkippingRefused } from '../../activities/journal/write/refused-events.ts'
import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { readPages } from '../../activities/kube/pages.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { objectKey, versionOf } from './pending.ts'
import { carefully, labelOf, nextList, type Term } from './lease-term.ts'

/** Journals a list and the deletions it shows; afterwards the position is the list's. */
export async function relist(term: Term): Promise<void> {
  const { db, cluster, watched, position, log } = term
  const seen = new Set<string>()
  let listVersion: number | undefined
  for await (const { items, version } of pages(term)) {
    if (listVersion === undefined && position.journaled !== undefined && version < position.journaled) {
      const rewound = await rewindObjects(db, cluster, groupKindOf(watched), version)
      log.warn(
        { kind: labelOf(watched), known: position.journaled, listed: version, rewound },
        'cluster went back in time',
      )
      // The versions of the past are no place to watch from, should this list fail.
      position.read = undefined
    }
    listVersion = version
    for (const { metadata } of items) seen.add(metadata.uid ?? '')
    await journalUnderLease(term, await newsAmong(term, items))
  }
  if (listVersion === undefined) throw new Error(`list of ${labelOf(watched)}: the server sent no page`)
  await journalDeletions(term, listVersion, seen)
}

async function newsAmong({ db, cluster, watched }: Term, items: ObjectList['items']): Promise<readonly ObjectEvent[]> {
  const events = items.map((object): ObjectEvent => ({ watched, type: 'ADDED', object }))
  const of = { cluster, ...groupKindOf(watched) }
  const asked = { ...of, objects: events.map(objectKey), versions: events.map(versionOf) }
  const { known } = await checkReceivedEvents(db, asked, new Date(0))
  const uids = asked.versions.filter((version) => known.has(versionKey(version))).map(({ uid }) => uid)
  const kept = await readProjections(db, of, uids)
  return events.filter((event) => {
    const key = versionKey(versionOf(event))
    const projection = kept.get(key)
    return (
      !known.has(key) ||
      (projection !== undefined && !sameProjection({ projection }, { projection: projectionOf(event) }))
    )
  })
}

async function journalDeletions(term: Term, listVersion: number, seen: ReadonlySet<string>): Promise<void> {
  const { db, cluster, watched, settings, position, log } = term
  const known = await objectsUpToVersion(db, cluster, groupKindOf(watched), listVersion)
  const missing = known
    .filter(({ uid }) => !seen.has(uid))
    .map((object): MissedDeletion => ({ watched, missing: object, listVersion }))

  const last = Math.max(0, missing.length - settings.batchLimit)
  for (let from = 0; from < last; from += settings.batchLimit) {
    await journalUnderLease(term, missing.slice(from, Math.min(last, from + settings.batchLimit)))
  }
  position.epoch += 1
  await journalUnderLease(term, missing.slice(last), listVersion)
  position.journaled = listVersion
  position.read = listVersion
  position.listDue = nextList(term)
  const { epoch } = position
  log.info(
    { kind: labelOf(watched), objects: seen.size, missing: missing.length, version: listVersion, epoch },
    'listed',
  )
}

async function journalUnderLease(
  term: Term,
  events: EventBatch['events'],
  resourceVersion: number | undefined = term.position.journaled,
): Promise<void> {
  const { db, cluster, watched, position, owner, journal, signal } = term
  signal.throwIfAborted()
  const { epoch, timeline } = position
  const checkpoint = { ...groupKindOf(watched), resourceVersion, epoch, leaseOwner: owner, timeline }
  await journalSkippingRefused(db, { cluster, source: 'relist', events, checkpoint }, journal, carefully(term))
}

/** Where the kind's objects are, all of them or those of the one namespace that is followed. */
export function collectionPath({ watched, namespace }: Pick<Term, 'watched' | 'namespace'>): string {
  return resourcePath(watched, watched.withoutNamespace === true ? undefined : namespace)
}

/** What of a kind is followed. Where one namespace is, that is also the only one of its kind. */
export function selectorsOf({
  watched,
  namespace,
}: Pick<Term, 'watched' | 'namespace'>): Readonly<Record<string, string>> {
  const isOfNamespaces = watched.apiVersion === 'v1' && watched.kind === 'Namespace'
  const fields = {
    ...watched.fields,
    ...(isOfNamespaces && namespace !== undefined && { 'metadata.name': namespace }),
  }
  const texts = Object.entries(fields).map(([key, value]) => `${key}=${value}`)
  return texts.length === 0 ? {} : { fieldSelector: texts.join(',') }
}

/** The pages of one consistent list. A continue token that expired throws; the caller lists again from the beginning. */
async function* pages(term: Term): AsyncGenerator<{ items: ObjectList['items']; version: number }> {
  const { kube, settings, signal } = term
  const how = { limit: settings.pageLimit, query: selectorsOf(term), signal }
  for await (const { items, metadata } of readPages(kube, collectionPath(term), how))
    yield { items, version: Number(metadata.resourceVersion) }
}
