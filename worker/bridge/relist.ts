// Lists a kind and starts a new epoch.
//
//   L1. Pages are journaled one by one; the checkpoint moves last. After a crash in between, the kind is listed again.
//   L2. Objects missing from the list are recorded as deleted, by uid, if the known version is not newer than the list.
//   L3. A list older than the checkpoint means that the cluster was restored from a backup: then the list decides about every row (rewindObjects).
//   L4. Versions that the journal already has get no row (feed.ts, F3), unless the declared fields have changed since: after an upgrade the next list
//       updates the rows of unchanged objects, too.

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
import { refusalPolicy, labelOf, nextListAt, type LeaseTerm } from './lease-term.ts'

/** Journals a list and the deletions that it shows; then the watch can start at the list's version. */
export async function relist(term: LeaseTerm): Promise<void> {
  const { db, cluster, watched, position, log } = term
  const listedUids = new Set<string>()
  let listVersion: number | undefined
  for await (const { items, version } of pages(term)) {
    if (listVersion === undefined && position.checkpoint !== undefined && version < position.checkpoint) {
      const rewound = await rewindObjects(db, cluster, groupKindOf(watched), version)
      log.warn(
        { kind: labelOf(watched), known: position.checkpoint, listed: version, rewound },
        'the cluster was restored from a backup; its objects are listed again',
      )
      // If this list fails, the watch must not start at a version of the time before the backup.
      position.watchFrom = undefined
    }
    listVersion = version
    for (const { metadata } of items) listedUids.add(metadata.uid ?? '')
    await journalUnderLease(term, await newsAmong(term, items))
  }
  if (listVersion === undefined) throw new Error(`list of ${labelOf(watched)}: the server returned no page`)
  await journalDeletions(term, listVersion, listedUids)
}

async function newsAmong(
  { db, cluster, watched }: LeaseTerm,
  items: ObjectList['items'],
): Promise<readonly ObjectEvent[]> {
  const events = items.map((object): ObjectEvent => ({ watched, type: 'ADDED', object }))
  const of = { cluster, ...groupKindOf(watched) }
  const query = { ...of, objects: events.map(objectKey), versions: events.map(versionOf) }
  const { known } = await checkReceivedEvents(db, query, new Date(0))
  const uids = query.versions.filter((version) => known.has(versionKey(version))).map(({ uid }) => uid)
  const projections = await readProjections(db, of, uids)
  return events.filter((event) => {
    const key = versionKey(versionOf(event))
    const projection = projections.get(key)
    return (
      !known.has(key) ||
      (projection !== undefined && !sameProjection({ projection }, { projection: projectionOf(event) }))
    )
  })
}

async function journalDeletions(term: LeaseTerm, listVersion: number, listedUids: ReadonlySet<string>): Promise<void> {
  const { db, cluster, watched, settings, position, log } = term
  const known = await objectsUpToVersion(db, cluster, groupKindOf(watched), listVersion)
  const missing = known
    .filter(({ uid }) => !listedUids.has(uid))
    .map((object): MissedDeletion => ({ watched, missing: object, listVersion }))

  const last = Math.max(0, missing.length - settings.batchLimit)
  for (let from = 0; from < last; from += settings.batchLimit) {
    await journalUnderLease(term, missing.slice(from, Math.min(last, from + settings.batchLimit)))
  }
  position.epoch += 1
  await journalUnderLease(term, missing.slice(last), listVersion)
  position.checkpoint = listVersion
  position.watchFrom = listVersion
  position.listDue = nextListAt(term)
  term.metrics?.count('pawl_relists_total', { kind: labelOf(watched) })
  const { epoch } = position
  log.info(
    { kind: labelOf(watched), objects: listedUids.size, missing: missing.length, version: listVersion, epoch },
    'listed',
  )
}

async function journalUnderLease(
  term: LeaseTerm,
  events: EventBatch['events'],
  resourceVersion: number | undefined = term.position.checkpoint,
): Promise<void> {
  const { db, cluster, watched, position, owner, journal, signal } = term
  signal.throwIfAborted()
  const { epoch, timeline } = position
  const checkpoint = { ...groupKindOf(watched), resourceVersion, epoch, leaseOwner: owner, timeline }
  await journalSkippingRefused(db, { cluster, source: 'relist', events, checkpoint }, journal, refusalPolicy(term))
}

/** The path of the kind's collection, in all namespaces or in the watched one. */
export function collectionPath({ watched, namespace }: Pick<LeaseTerm, 'watched' | 'namespace'>): string {
  return resourcePath(watched, watched.withoutNamespace === true ? undefined : namespace)
}

/** The field selector of list and watch. If one namespace is watched, it is also the only watched object of kind Namespace. */
export function selectorsOf({
  watched,
  namespace,
}: Pick<LeaseTerm, 'watched' | 'namespace'>): Readonly<Record<string, string>> {
  const isOfNamespaces = watched.apiVersion === 'v1' && watched.kind === 'Namespace'
  const fields = {
    ...watched.fields,
    ...(isOfNamespaces && namespace !== undefined && { 'metadata.name': namespace }),
  }
  const texts = Object.entries(fields).map(([key, value]) => `${key}=${value}`)
  return texts.length === 0 ? {} : { fieldSelector: texts.join(',') }
}

/** The pages of one consistent list. @throws if the continue token has expired; the caller starts a new list. */
async function* pages(term: LeaseTerm): AsyncGenerator<{ items: ObjectList['items']; version: number }> {
  const { kube, settings, signal } = term
  const how = { limit: settings.pageLimit, query: selectorsOf(term), signal }
  for await (const { items, metadata } of readPages(kube, collectionPath(term), how))
    yield { items, version: Number(metadata.resourceVersion) }
}
