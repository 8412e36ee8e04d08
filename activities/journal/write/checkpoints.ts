// Checkpoints and leases of the watch on each kind (leader election per kind). Leases use the database's clock, so that
// clocks of machines are never compared.
//
//   K1. A checkpoint moves only in the transaction that journals the events it covers, and only while its writer owns
//       the lease. After a failover or a restored backup the new PostgreSQL server may lack unknown commits, so a lease
//       is valid on one timeline only. On the next timeline its owner lists the kind again; until this list is
//       journaled the kind does not count as listed.
//   K2. An epoch begins with a list. Only the first list of an epoch may lower versions (the cluster was restored or
//       recreated).
//   K3. The position of a watch of one namespace says nothing about other namespaces, so an owner that watches other
//       namespaces than the last owner lists the kind again.

import { type Kysely, sql } from 'kysely'
import { type GroupKind, groupKindText } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { TIMELINE, livingObjects } from '../conditions.ts'

export interface Checkpoint extends GroupKind {
  /** Undefined while the first list is being journaled. */
  readonly resourceVersion: number | undefined
  readonly epoch: number
  readonly leaseOwner: string
  /** The checkpoint is stored only while the server is on this PostgreSQL timeline; undefined: on every timeline. */
  readonly timeline?: string | undefined
}

export interface HeldLease {
  /** Undefined before the first list on this timeline, and of these namespaces (K3). */
  readonly resourceVersion: number | undefined
  readonly epoch: number
  /** Timeline of the server; it changes when another server takes over (K1). */
  readonly timeline: string
}

export interface LeaseRequest extends GroupKind {
  readonly cluster: string
  readonly owner: string
  readonly leaseMs: number
  /** The only watched namespace; undefined: all. */
  readonly namespace?: string | undefined
  /** Renews the lease only while the server is on this timeline; undefined: on every timeline. */
  readonly timeline?: string | undefined
}

const isOnTimeline = (timeline: string | undefined) =>
  timeline === undefined ? sql`true` : sql`${TIMELINE} = ${timeline}`

/**
 * Another process watches the kind, or another server holds the journal (K1). The caller must drop its unwritten
 * events.
 */
export class LeaseLost extends Error {
  constructor(cluster: string, kind: GroupKind, owner: string) {
    super(
      `watch of ${groupKindText(kind)} in cluster ${cluster}: ${owner} has lost its lease: another process holds it, or another PostgreSQL server has replaced the one that issued it`,
    )
    this.name = 'LeaseLost'
  }
}

/**
 * Acquires the lease; undefined while another process holds it.
 *
 * @throws a plain Error if the database has no timelines; errors of the database.
 */
export async function acquireLease(db: Kysely<Database>, request: LeaseRequest): Promise<HeldLease | undefined> {
  try {
    return await takeLease(db, request)
  } catch (error) {
    throw lacksTimelineFunctions(error) ? new Error(NO_TIMELINES, { cause: error }) : error
  }
}

const NO_TIMELINES =
  'journal: the database does not permit calls of pg_walfile_name and pg_current_wal_insert_lsn; use a PostgreSQL that permits them: the bridge detects by them that another server has replaced this one'

/** SQLSTATE undefined_function, insufficient_privilege, feature_not_supported. */
function lacksTimelineFunctions(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return ['42883', '42501', '0A000'].includes(String(error.code)) && /wal/.test(error.message)
}

async function takeLease(db: Kysely<Database>, request: LeaseRequest): Promise<HeldLease | undefined> {
  const { cluster, group, kind, owner, leaseMs, namespace = '' } = request
  const { rows } = await sql<{ resource_version: number | null; epoch: number; timeline: string }>`
    insert into watch_checkpoint as c (cluster, api_group, kind, lease_owner, lease_until, timeline, namespace)
    values (${cluster}, ${group}, ${kind}, ${owner}, clock_timestamp() + ${leaseMs} * interval '1 ms', ${TIMELINE}, ${namespace})
    on conflict (cluster, api_group, kind) do update set lease_owner = excluded.lease_owner, lease_until = excluded.lease_until,
      resource_version = case when coalesce(c.timeline, excluded.timeline) = excluded.timeline
        and coalesce(c.namespace, excluded.namespace) = excluded.namespace then c.resource_version end,
      timeline = excluded.timeline, namespace = excluded.namespace
    where c.lease_owner is null or c.lease_owner = excluded.lease_owner or c.lease_until < clock_timestamp()
    returning c.resource_version, c.epoch, c.timeline`.execute(db)
  const [row] = rows
  return row && { resourceVersion: row.resource_version ?? undefined, epoch: row.epoch, timeline: row.timeline }
}

/** The namespace that the owner of the lease watches (`''`: all); undefined if it is the request's, or unknown. */
export async function otherNamespace(db: Kysely<Database>, request: LeaseRequest): Promise<string | undefined> {
  const { cluster, group, kind, namespace = '' } = request
  const row = await db
    .selectFrom('watch_checkpoint')
    .select('namespace')
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('namespace', '<>', namespace)
    .executeTakeFirst()
  return row?.namespace ?? undefined
}

/**
 * Renews a lease. It never creates the row: after the journal was emptied the next owner must begin with a list.
 *
 * @throws LeaseLost when another owner has the lease, the row is missing, or another server holds the journal.
 */
export async function renewLease(db: Kysely<Database>, request: LeaseRequest): Promise<void> {
  const { cluster, group, kind, owner, leaseMs, timeline } = request
  const { numAffectedRows } = await sql`
    update watch_checkpoint set lease_until = clock_timestamp() + ${leaseMs} * interval '1 ms'
    where cluster = ${cluster} and api_group = ${group} and kind = ${kind} and lease_owner = ${owner}
      and ${isOnTimeline(timeline)}`.execute(db)
  if (numAffectedRows !== 1n) throw new LeaseLost(cluster, request, owner)
}

/** Releases the lease, so that another process need not wait until it expires. */
export async function releaseLease(
  db: Kysely<Database>,
  cluster: string,
  { group, kind }: GroupKind,
  owner: string,
): Promise<void> {
  await sql`update watch_checkpoint set lease_owner = null, lease_until = null
    where cluster = ${cluster} and api_group = ${group} and kind = ${kind} and lease_owner = ${owner}`.execute(db)
}

/**
 * Stores the checkpoint.
 *
 * @throws LeaseLost when another owner has the lease, or another server holds the journal (K1). An expired lease that
 * no process has taken still counts: the row lock decides.
 */
export async function writeCheckpoint(
  trx: Kysely<Database>,
  cluster: string,
  checkpoint: Checkpoint,
  now: Date,
): Promise<void> {
  const { group, kind, resourceVersion, epoch, leaseOwner, timeline } = checkpoint
  const { numAffectedRows } = await sql`
    update watch_checkpoint set resource_version = ${resourceVersion ?? null}, epoch = ${epoch}, updated_at = ${now}
    where cluster = ${cluster} and api_group = ${group} and kind = ${kind} and lease_owner = ${leaseOwner}
      and epoch <= ${epoch} and ${isOnTimeline(timeline)}`.execute(trx)
  if (numAffectedRows !== 1n) throw new LeaseLost(cluster, checkpoint, leaseOwner)
}

/**
 * Handles a consistent list that is older than the journal: the cluster was restored or recreated. Rows newer than the
 * list lose their version, so that the list decides about each object (K2).
 */
export async function rewindObjects(
  db: Kysely<Database>,
  cluster: string,
  { group, kind }: GroupKind,
  listVersion: number,
): Promise<number> {
  const { numAffectedRows } = await sql`update object set resource_version = 0
    where cluster = ${cluster} and api_group = ${group} and kind = ${kind} and resource_version > ${listVersion}`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}

/**
 * The existing objects of a kind that a list of this version must contain; objects missing from the list are deleted.
 */
export async function objectsUpToVersion(
  db: Kysely<Database>,
  cluster: string,
  of: GroupKind,
  listVersion: number,
): Promise<{ uid: string; namespace: string; name: string }[]> {
  return await livingObjects(db, cluster, of)
    .select(['uid', 'namespace', 'name'])
    .where('resource_version', '<=', listVersion)
    .execute()
}
