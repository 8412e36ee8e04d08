// Reads the journaled versions of an object and its children, without bodies.

import { type Kysely, sql } from 'kysely'
import {
  type GroupKind,
  groupKindText,
  isChildOf,
  isSameGroupKind,
  type Owner,
  type OwnerReference,
} from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { listedKinds } from '../conditions.ts'

export interface KnownObject extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** The controlling owner reference as written in the object. */
  readonly owner: OwnerReference | null
  readonly version: number
  readonly deleted: boolean
  /**
   * A list did not contain the object, and no DELETED event was received. A newer list that contains the object takes
   * precedence.
   */
  readonly presumedDeleted: boolean
}

export interface KnownFamily {
  /** Undefined: the journal has no row of the object. */
  readonly self: KnownObject | undefined
  /** The objects that it controls, including deleted ones. */
  readonly children: readonly KnownObject[]
  /** Kinds (`groupKindText`) that were listed completely; for other kinds a missing row proves nothing. */
  readonly listedKinds: ReadonlySet<string>
}

/**
 * Reads each owner with its children, in the order of the owners, by one query. The condition on namespaces limits the
 * rows that owner references of other users can make it read.
 */
export async function knownFamilies(
  db: Kysely<Database>,
  cluster: string,
  owners: readonly Owner[],
): Promise<KnownFamily[]> {
  const uids = owners.map(({ uid }) => uid)
  const namespaces = [...new Set(owners.map(({ namespace }) => namespace))]
  const near = namespaces.includes('') ? sql`` : sql` and namespace = any(${namespaces}::text[])`
  const { rows } = await sql<{ known: KnownObject[]; listed: GroupKind[] }>`
    select (select coalesce(json_agg(o), '[]') from (
              select api_group as "group", kind, uid, namespace, name, projection #> '{metadata,ownerReferences,0}' as owner,
                     resource_version as version, deleted, presumed_deleted as "presumedDeleted"
              from object where cluster = ${cluster} and (uid = any(${uids}::text[])
                or (owner_uid = any(${uids}::text[])${near}))) o) as known,
           ${listedKinds(cluster)} as listed`.execute(db)
  const { known = [], listed = [] } = rows[0] ?? {}
  const whole = new Set(listed.map(groupKindText))
  const byUid = groupedBy(known, ({ uid }) => uid)
  const byOwner = groupedBy(known, ({ owner }) => owner?.uid ?? '')
  return owners.map((owner) => ({
    self: byUid.get(owner.uid)?.find((object) => isSameObject(object, owner)),
    children: (byOwner.get(owner.uid) ?? []).filter((object) => isKnownChild(object, owner)),
    listedKinds: whole,
  }))
}

function groupedBy(objects: readonly KnownObject[], keyOf: (object: KnownObject) => string) {
  const groups = new Map<string, KnownObject[]>()
  for (const object of objects) {
    const key = keyOf(object)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [object])
    else group.push(object)
  }
  return groups
}

function isSameObject(object: KnownObject, owner: Owner): boolean {
  return object.uid === owner.uid && isSameGroupKind(object, owner)
}

/** Whether the journaled object is a child of this owner (kit/run/owners.ts). */
export function isKnownChild({ namespace, owner: reference }: KnownObject, owner: Owner): boolean {
  return reference !== null && isChildOf({ metadata: { namespace, ownerReferences: [reference] } }, owner)
}

/**
 * Combines the family with newer states in order of time. Of each object the newer version counts.
 *
 * @param newer states that the journal may not contain yet.
 */
export function withNewerObjects(family: KnownFamily, owner: Owner, newer: readonly KnownObject[]): KnownFamily {
  if (newer.length === 0) return family
  const before = family.self === undefined ? family.children : [family.self, ...family.children]
  const newest = new Map(before.map((object) => [object.uid, object]))
  for (const object of newer) {
    const known = newest.get(object.uid)
    if (known === undefined || isNewer(object, known)) newest.set(object.uid, object)
  }
  const { listedKinds: whole } = family
  const all = [...newest.values()]
  const children = all.filter((object) => isKnownChild(object, owner))
  return { self: all.find((object) => isSameObject(object, owner)), children, listedKinds: whole }
}

/** The answer to the write that removes the last finalizer repeats the version. */
function isNewer({ version, deleted }: KnownObject, than: KnownObject): boolean {
  return version > than.version || (version === than.version && deleted)
}
