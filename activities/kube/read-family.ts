// Reading: an object that this process saw in the newest version that the journal knows is not read again; any other by GET with its uid
// compared, or with its siblings by one LIST not older than what the journal knows. Never a bare LIST where that is known (a consistent list
// waits up to 100 ms on this server, facts.md), never version 0. Source: docs/architecture.md "Reading", docs/adr/0009.
//
//   R1. What a run wrote is in the journal, or in the ledger of this process, before its activity ends: a run reads its own writes.
//   R2. Whatever the journal does not know yet comes with a wake of its own, and a write on an older version is refused by the server.
//   R3. What the journal has seen is not unseen: where a GET shows less, an older version or nothing of what lives, a LIST not older than that
//       decides, which a server that is behind cannot answer. And what only a list has lacked (`presumedDeleted`) is asked for again, once in a while
//       (gone-objects.ts).

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

/** What a run knows of objects, and is told the difference to: resourceVersion by uid. */
export type KnownVersions = Readonly<Record<string, string>>

/** The newest version that the run knows, 0 for none. */
export function newestKnown(known: KnownVersions): number {
  return Object.values(known).reduce((version, one) => Math.max(version, Number(one)), 0)
}

/** uids of known objects that are not among those there now. */
export function deletedSince(known: KnownVersions, now: readonly KubeObject[]): readonly string[] {
  const there = new Set(now.map((object) => object.metadata.uid))
  return Object.keys(known).filter((uid) => !there.has(uid))
}

/** Whether the object is not as the run knows it. */
export function isChangedSince({ metadata: { uid = '', resourceVersion } }: KubeObject, known: KnownVersions): boolean {
  return known[uid] !== resourceVersion
}

/**
 * The subject as it is; undefined when it is gone or another object has its name.
 *
 * @param by whose pass reads (families.ts); undefined: as the journal knows it now.
 */
export async function readSubject<Watched extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  subject: Omit<Subject, 'group' | 'kind'>,
  by?: PassRef,
): Promise<StoredAs<Watched> | undefined> {
  return await readKnown(deps, watched, subject, (await deps.journal.family(ownerAt(watched, subject), by)).self)
}

/** Which children of a subject are asked for. */
export interface Children<Child extends WatchedKind = WatchedKind> {
  readonly watched: Child
  /** The one of a name, or those with labels, as a selector of equalities. Undefined: there can be none. */
  readonly by: { readonly name: string } | { readonly labelSelector: string } | undefined
  /** Newest version that the run itself has written or seen, 0 for none. */
  readonly ownVersion?: number
  /** As for `readSubject`. */
  readonly pass?: PassRef
}

export interface Family<Watched extends WatchedKind = WatchedKind, Child extends WatchedKind = WatchedKind> {
  readonly subject: StoredAs<Watched> | undefined
  /** Objects of the kind that the subject controls; of an earlier object of its name none. */
  readonly children: readonly StoredAs<Child>[]
}

/** The subject and those it controls. */
export async function readFamily<Watched extends WatchedKind, Child extends WatchedKind>(
  deps: Deps,
  watched: Watched,
  subject: Omit<Subject, 'group' | 'kind'>,
  children: Children<Child>,
): Promise<Family<Watched, Child>> {
  const { subject: object, children: found } = await readFamilyOfKinds(deps, watched, subject, [children])
  return { subject: object, children: found[0] }
}

/** Lists of children, as they were asked for. */
export type ChildLists<Asked extends readonly Children[]> = {
  readonly [Index in keyof Asked]: Asked[Index] extends Children<infer Child> ? readonly StoredAs<Child>[] : never
}

/** The subject and those it controls of several kinds, of which the journal is asked once. @param asked of one looker. */
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

/** Those that the subject controls, without the subject. */
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

// One LIST costs the server as much as some reads, and more the more objects the namespace has.
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
  // A label finds children, and makes none: one that the journal knows by its owner stays one when a hand has taken its label away.
  const isMeant = (child: KubeObject) =>
    isOwnedBy(child, owner.watched, owner) && (!('name' in by) || child.metadata.name === by.name)
  const kind = groupKindOf(watched)
  const known = family.children.filter((child) => isSameGroupKind(child, kind))
  // What is called otherwise need not be read to be left out.
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
  // The list may be older than the end of a finalizer, which the journal knows under the version before.
  const gone = new Set(known.filter(isGone).map((child) => child.uid))
  return found
    .filter((child) => isMeant(child) && !gone.has(child.metadata.uid ?? ''))
    .map((child) => storedAs(watched, deps.objects.put(child)))

  async function readLabelled(labelSelector: string) {
    const ownVersion = living.reduce((newest, { version }) => Math.max(newest, version), children.ownVersion ?? 0)
    return await listObjects(deps, watched, namespace, { labelSelector, ownVersion })
  }
}

/** What the bridge's list has lacked and the server does not have, either. */
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

/** Whether the server shows less of an object than the journal has seen (R3). */
function isOlderThanKnown(
  found: KubeObject | undefined,
  uid: string,
  known: KnownObject | undefined,
): known is KnownObject {
  if (known === undefined || known.deleted) return false
  return found?.metadata.uid !== uid || versionOf(found) < known.version
}

/** @throws KubeError where the server does not know that version yet, or not any more; retryable. */
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

/** The object as this process saw it, when the journal knows no newer state of it. */
function cachedObject({ objects }: Deps, { uid, version, deleted }: KnownObject): KubeObject | undefined {
  const object = objects.get(uid)
  return object !== undefined && !deleted && versionOf(object) >= version ? object : undefined
}

/** One object by name; undefined when there is none. */
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
 * Objects of a kind in a namespace, at least as new as everything that the journal knows of them and as `ownVersion`.
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

/** Objects of a kind in a namespace as the server has them now: for whoever has subscribed before (subscriptions.ts, S1). */
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
 * A pass of a job looks: the run is at work here until its settle, and the journal is told, because the sweep looks up jobs that had none for a
 * while. Call it in the tick in which the reading begins.
 */
export async function recordObservation({ journal, inFlightRuns }: Deps, by: By): Promise<void> {
  inFlightRuns.passStarted(by.workflowID)
  await journal.countPass(by)
}
