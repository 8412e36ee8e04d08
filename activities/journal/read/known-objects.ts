// What the journal knows of objects and their children: which there are, and in which version. No bodies.

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
  /** The reference that controls it, as it says of itself. */
  readonly owner: OwnerReference | null
  readonly version: number
  readonly deleted: boolean
  /** Nobody saw the deletion: a list lacked the object, and a newer one that has it is right. */
  readonly presumedDeleted: boolean
}

export interface KnownFamily {
  /** Undefined: the journal has never heard of it. */
  readonly self: KnownObject | undefined
  /** What it controls, also what is deleted. */
  readonly children: readonly KnownObject[]
  /** The kinds (`groupKindText`) of which everything that there was at some time is known; of others a missing row says nothing. */
  readonly listedKinds: ReadonlySet<string>
}

/** The families of these objects, in their order; one query. Namespaces bound what others can make it read: references are anybody's to write. */
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

/** Whether what is known is a child of this owner (kit/run/owners.ts). */
export function isKnownChild({ namespace, owner: reference }: KnownObject, owner: Owner): boolean {
  return reference !== null && isChildOf({ metadata: { namespace, ownerReferences: [reference] } }, owner)
}

/** The family with what is told of it beside the journal, in order of time: the newer version of an object counts. */
export function withNewerObjects(family: KnownFamily, owner: Owner, told: readonly KnownObject[]): KnownFamily {
  if (told.length === 0) return family
  const before = family.self === undefined ? family.children : [family.self, ...family.children]
  const newest = new Map(before.map((object) => [object.uid, object]))
  for (const object of told) {
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
