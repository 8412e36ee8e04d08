// What the journal knows of objects and their children: which there are, and in which version. No bodies.

import { type Kysely, sql } from 'kysely'
import { type GroupKind, groupKindText } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

export interface KnownObject extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly ownerUid: string | null
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

/** The families of these objects, in their order; one query. */
export async function knownFamilies(
  db: Kysely<Database>,
  cluster: string,
  uids: readonly string[],
): Promise<KnownFamily[]> {
  const { rows } = await sql<{ known: KnownObject[]; listed: GroupKind[] }>`
    select (select coalesce(json_agg(o), '[]') from (
              select api_group as "group", kind, uid, namespace, name, owner_uid as "ownerUid", resource_version as version, deleted,
                     presumed_deleted as "presumedDeleted"
              from object where cluster = ${cluster} and (uid = any(${uids}::text[]) or owner_uid = any(${uids}::text[]))) o) as known,
           (select coalesce(json_agg(json_build_object('group', api_group, 'kind', kind)), '[]') from watch_checkpoint
              where cluster = ${cluster} and resource_version is not null) as listed`.execute(db)
  const { known = [], listed = [] } = rows[0] ?? {}
  const listedKinds = new Set(listed.map(groupKindText))
  const byUid = new Map(known.map((object) => [object.uid, object]))
  const byOwner = new Map<string, KnownObject[]>()
  for (const object of known) {
    const siblings = byOwner.get(object.ownerUid ?? '')
    if (siblings === undefined) byOwner.set(object.ownerUid ?? '', [object])
    else siblings.push(object)
  }
  return uids.map((uid) => ({ self: byUid.get(uid), children: byOwner.get(uid) ?? [], listedKinds }))
}

/** The family with what is told of it beside the journal, in order of time: the newer version of an object counts. */
export function withNewer(family: KnownFamily, uid: string, told: readonly KnownObject[]): KnownFamily {
  if (told.length === 0) return family
  const all = family.self === undefined ? family.children : [family.self, ...family.children]
  const newest = new Map(all.map((object) => [object.uid, object]))
  for (const object of told) {
    const known = newest.get(object.uid)
    if (known === undefined || isNewer(object, known)) newest.set(object.uid, object)
  }
  const { listedKinds } = family
  const children = [...newest.values()].filter(({ ownerUid }) => ownerUid === uid)
  return { self: newest.get(uid), children, listedKinds }
}

/** The answer to the write that removes the last finalizer repeats the version. */
function isNewer({ version, deleted }: KnownObject, than: KnownObject): boolean {
  return version > than.version || (version === than.version && deleted)
}
