// Reads subjects and their children. An object that is cached in the newest version that the journal knows is not read
// again. Other objects are read by GET with a comparison of uids, or together by one LIST that is not older than the
// journal's version. It avoids a LIST without a version where one is known (a consistent list waits up to 100 ms,
// facts.md), and never uses version 0. Source: docs/concepts/architecture.md "Reading", docs/adr/0009.
//
//   R1. A run reads its own writes: they are in the journal, or in this process's write buffer, before the activity
//       ends.
//   R2. A change that the journal does not know yet causes its own wake, and the server refuses a write on an older
//       version.
//   R3. An observed version stays observed: if a GET shows an older version, or does not find an existing object, a
//       LIST not older than that version decides; a server that is behind cannot answer it. An object that was missing
//       only in a list (`presumedDeleted`) is read again from time to time (object-cache.ts).
//   R4. A killed worker has not journaled its last writes, and the bridge holds their events for some time. So a child
//       that the status of its owner names, but the journal lacks, is looked for on the server (`withNamedChildren`).

import {
  type By,
  type GroupKind,
  groupKindOf,
  groupKindText,
  isSameGroupKind,
  type Subject,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { PassRef } from '../journal/write/family-cache.ts'
import type { KnownFamily, KnownObject } from '../journal/read/known-objects.ts'
import { newestVersion } from '../journal/read/subjects.ts'
import { activitySignal } from './activity-signal.ts'
import type { KubeObject, ObjectList } from './client.ts'
import { resourcePath } from './resource-path.ts'
import { isNotFound } from './errors.ts'
import { versionOf } from './object-cache.ts'
import { isOwnedBy } from './owners.ts'
import { readAll } from './pages.ts'
import { type StoredAs, storedAs } from './object-views.ts'

/** resourceVersions by uid that a run knows; activities return the difference. */
export type KnownVersions = Readonly<Record<string, string>>

/** The newest version that the run knows, 0 for none. */
export function newestKnown(known: KnownVersions): number {
  return Object.values(known).reduce((version, one) => Math.max(version, Number(one)), 0)
}

/** uids of known objects that no longer exist. */
export function deletedSince(known: KnownVersions, now: readonly KubeObject[]): readonly string[] {
  const there = new Set(now.map((object) => object.metadata.uid))
  return Object.keys(known).filter((uid) => !there.has(uid))
}

/** Whether the object's version differs from the one the run knows. */
export function isChangedSince({ metadata: { uid = '', resourceVersion } }: KubeObject, known: KnownVersions): boolean {
  return known[uid] !== resourceVersion
}

/**
 * Reads the subject; undefined when it is deleted or another object has its name.
 *
 * @param by the reading pass (family-cache.ts); undefined: reads the journal again.
 */
export async function readSubject<Watched extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  subject: Omit<Subject, 'group' | 'kind'>,
  by?: PassRef,
): Promise<StoredAs<Watched> | undefined> {
  return await readKnown(deps, watched, subject, (await deps.journal.family(ownerAt(watched, subject), by)).self)
}

/** Selects children of a subject. */
export interface Children<Child extends WatchedKind = WatchedKind> {
  readonly watched: Child
  /** By name, or by an equality selector of labels. Undefined: no children. */
  readonly by: { readonly name: string } | { readonly labelSelector: string } | undefined
  /** Newest version that the run has written or read, 0 for none. */
  readonly ownVersion?: number
  /** The reading pass, as in `readSubject`. */
  readonly pass?: PassRef
}

export interface Family<Watched extends WatchedKind = WatchedKind, Child extends WatchedKind = WatchedKind> {
  readonly subject: StoredAs<Watched> | undefined
  /** Objects of the kind that the subject controls; children of an earlier object with its name are excluded. */
  readonly children: readonly StoredAs<Child>[]
}

/** Reads the subject and its children of one kind. */
export async function readFamily<Watched extends WatchedKind, Child extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  subject: Omit<Subject, 'group' | 'kind'>,
  children: Children<Child>,
): Promise<Family<Watched, Child>> {
  const { subject: object, children: found } = await readFamilyOfKinds(deps, watched, subject, [children])
  return { subject: object, children: found[0] }
}

/** Lists of children, in the order of the selections. */
export type ChildLists<Asked extends readonly Children[]> = {
  readonly [Index in keyof Asked]: Asked[Index] extends Children<infer Child> ? readonly StoredAs<Child>[] : never
}

/**
 * Reads the subject and its children of several kinds with one query of the journal.
 *
 * @param asked selections of one pass.
 */
export async function readFamilyOfKinds<Watched extends WatchedKind, const Asked extends readonly Children[]>(
  deps: Deps,
  watched: Watched,
  subject: Omit<Subject, 'group' | 'kind'>,
  asked: Asked,
): Promise<{ readonly subject: StoredAs<Watched> | undefined; readonly children: ChildLists<Asked> }> {
  const family = await deps.journal.family(ownerAt(watched, subject), asked[0]?.pass)
  const [object, ...children] = await Promise.all([
    readKnown(deps, watched, subject, family.self),
    ...asked.map((one) => readChildren(deps, { watched, ...subject }, one, family)),
  ])
  return { subject: object as StoredAs<Watched> | undefined, children: children as unknown as ChildLists<Asked> }
}

/** Reads children without their owner. */
export async function readOwned<Child extends WatchedKind>(
  deps: Deps,
  owner: Owner,
  children: Children<Child>,
): Promise<readonly StoredAs<Child>[]> {
  return await readChildren(
    deps,
    owner,
    children,
    await deps.journal.family(ownerAt(owner.watched, owner), children.pass),
  )
}

/**
 * Returns the children, read from the server if one of the names is not among them (R4).
 *
 * @param named by the status of the owner, at `version` of the owner or earlier.
 * @param found what a read of the same children returned.
 */
export async function withNamedChildren<Child extends WatchedKind>(
  deps: Deps,
  owner: Owner,
  children: Children<Child>,
  { named, version, found }: NamedChildren<Child>,
): Promise<readonly StoredAs<Child>[]> {
  const there = new Set(found.map(({ metadata }) => metadata.name))
  const { watched, by } = children
  if (by === undefined || named.every((name) => there.has(name))) return found
  const listed =
    'name' in by
      ? await readNamed(deps, watched, owner.namespace, by.name)
      : await listObjects(deps, watched, owner.namespace, { ...by, ownVersion: version })
  return listed
    .filter((child) => isOwnedBy(child, owner.watched, owner))
    .map((child) => storedAs(watched, deps.objects.put(child)))
}

export interface NamedChildren<Child extends WatchedKind> {
  readonly named: readonly string[]
  readonly version: number
  readonly found: readonly StoredAs<Child>[]
}

// One LIST costs as much as some GETs, and more with the number of objects in the namespace.
const MOST_READS = 5

async function readChildren<Child extends WatchedKind>(
  deps: Deps,
  owner: Owner,
  children: Children<Child>,
  family: KnownFamily,
): Promise<readonly StoredAs<Child>[]> {
  const { watched, by } = children
  if (by === undefined) return []
  const { namespace } = owner
  // Labels only find children: a journaled child stays one after a user has removed its label.
  const isMeant = (child: KubeObject) =>
    isOwnedBy(child, owner.watched, owner) && (!('name' in by) || child.metadata.name === by.name)
  const kind = groupKindOf(watched)
  const known = family.children.filter((child) => isSameGroupKind(child, kind))
  // Objects with other names need not be read.
  const isGone = ({ deleted, presumedDeleted }: KnownObject) => deleted && !presumedDeleted
  const now = deps.now()
  const isConfirmed = (child: KnownObject) => child.presumedDeleted && deps.objects.deletedObjects.has(child, now)
  const living = known.filter(
    (child) => !isGone(child) && !isConfirmed(child) && (!('name' in by) || child.name === by.name),
  )
  const unseen = living.filter((child) => cachedObject(deps, child) === undefined)
  if (family.listedKinds.has(groupKindText(kind)) && unseen.length <= MOST_READS) {
    const read = await Promise.all(living.map((child) => readKnown(deps, watched, child, child)))
    confirmDeleted(deps, living, read)
    return read.filter((child) => child !== undefined).filter(isMeant)
  }
  const found = 'name' in by ? await readNamed(deps, watched, namespace, by.name) : await readLabelled(by.labelSelector)
  confirmDeleted(deps, living, found)
  // The list may be older than the removal of a finalizer, which the journal has under the previous version.
  const gone = new Set(known.filter(isGone).map((child) => child.uid))
  return found
    .filter((child) => isMeant(child) && !gone.has(child.metadata.uid ?? ''))
    .map((child) => storedAs(watched, deps.objects.put(child)))

  async function readLabelled(labelSelector: string) {
    const ownVersion = living.reduce((newest, { version }) => Math.max(newest, version), children.ownVersion ?? 0)
    return await listObjects(deps, watched, namespace, { labelSelector, ownVersion })
  }
}

/** Remembers objects that neither the bridge's list nor the server has. */
function confirmDeleted(
  { objects, now }: Deps,
  asked: readonly KnownObject[],
  found: readonly (KubeObject | undefined)[],
) {
  const there = new Set(found.map((object) => object?.metadata.uid))
  for (const child of asked)
    if (child.presumedDeleted && !there.has(child.uid)) objects.deletedObjects.confirm(child, now())
}

async function readNamed<Watched extends WatchedKind>(deps: Deps, watched: Watched, namespace: string, name: string) {
  const object = await readObject(deps, watched, namespace, name)
  return object === undefined ? [] : [object]
}

type ObjectPlace = Pick<Subject, 'uid' | 'namespace' | 'name'>

interface Owner extends ObjectPlace {
  readonly watched: WatchedKind
}

function ownerAt(watched: WatchedKind, { uid, namespace, name }: ObjectPlace): ObjectPlace & GroupKind {
  return { ...groupKindOf(watched), uid, namespace, name }
}

async function readKnown<Watched extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  { uid, namespace, name }: ObjectPlace,
  known: KnownObject | undefined,
): Promise<StoredAs<Watched> | undefined> {
  const before = known === undefined ? undefined : cachedObject(deps, known)
  if (before !== undefined) return storedAs(watched, before)
  const found = await readObject(deps, watched, namespace, name)
  const object = isOlderThanKnown(found, uid, known) ? await readNotOlder(deps, watched, known) : found
  return object?.metadata.uid === uid ? storedAs(watched, deps.objects.put(object)) : undefined
}

/** Whether the server returned an older state than the journal has (R3). */
function isOlderThanKnown(
  found: KubeObject | undefined,
  uid: string,
  known: KnownObject | undefined,
): known is KnownObject {
  if (known === undefined || known.deleted) return false
  return found?.metadata.uid !== uid || versionOf(found) < known.version
}

/**
 * Reads the object by a LIST not older than the journaled version.
 *
 * @throws KubeError, retryable, when the server does not know that version yet or any more.
 */
async function readNotOlder(
  { kube }: Deps,
  watched: WatchedKind,
  { uid, namespace, name, version }: KnownObject,
): Promise<KubeObject | undefined> {
  const freshness = { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(version) }
  const list = await kube.request<ObjectList>('GET', resourcePath(watched, namespace), {
    query: { fieldSelector: `metadata.name=${name}`, ...freshness },
  })
  return list.items.find((object) => object.metadata.uid === uid)
}

/** The cached object if the journal knows no newer version. */
function cachedObject({ objects }: Deps, { uid, version, deleted }: KnownObject): KubeObject | undefined {
  const object = objects.get(uid)
  return object !== undefined && !deleted && versionOf(object) >= version ? object : undefined
}

/** Reads one object by name; undefined when it does not exist. */
export async function readObject<Watched extends WatchedKind>(
  deps: Pick<Deps, 'kube'>,
  watched: Watched,
  namespace: string,
  name: string,
): Promise<StoredAs<Watched> | undefined> {
  try {
    return storedAs(watched, await deps.kube.request<KubeObject>('GET', resourcePath(watched, namespace, name)))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/**
 * Lists objects of a kind in a namespace, not older than the journal's versions and `ownVersion`.
 *
 * @param ownVersion newest version that the run itself has written, 0 for none.
 */
export async function listObjects<Watched extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  namespace: string,
  { labelSelector, ownVersion = 0 }: { labelSelector: string; ownVersion?: number },
): Promise<readonly StoredAs<Watched>[]> {
  const journaled = await newestVersion(deps.db, deps.cluster, groupKindOf(watched), namespace)
  const version = Math.max(journaled ?? 0, ownVersion)
  const freshness = version > 0 ? { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(version) } : undefined
  const query = { labelSelector, ...freshness }
  const how = { query, limit: undefined, signal: activitySignal() }
  const objects = await readAll(deps.kube, resourcePath(watched, namespace), how)
  return objects.map((object) => storedAs(watched, object))
}

/** Lists the server's current objects, for callers that subscribed before (subscriptions.ts, S1). */
export async function listFromServer<Watched extends WatchedKind>(
  { kube }: Pick<Deps, 'kube'>,
  watched: Watched,
  namespace: string,
  labelSelector: string,
): Promise<readonly StoredAs<Watched>[]> {
  const how = { query: { labelSelector }, limit: undefined, signal: activitySignal() }
  const objects = await readAll(kube, resourcePath(watched, namespace), how)
  return objects.map((object) => storedAs(watched, object))
}

/**
 * Records that a pass of a run observes: the run is in flight in this process until its settle, and the journal counts
 * the pass, because the resync checks jobs without recent passes. Call it in the tick in which the reading begins.
 */
export async function recordObservation({ journal, inFlightRuns, runMetrics }: Deps, by: By): Promise<void> {
  runMetrics?.passStarted(by.workflowID)
  inFlightRuns.passStarted(by.workflowID)
  await journal.countPass(by)
}
