// The journal: events, objects, wakes, jobs and writes. Source: docs/concepts/architecture.md "Journal".

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // Partitioned by time so that retention drops whole days. A unique index of a partitioned table must contain the
  // partition key. The writer draws seq before it writes the object rows that refer to seq. A stale or unchanged event
  // has the projection {}.
  `create sequence watch_event_seq`,
  `create table watch_event (
    seq bigint not null default nextval('watch_event_seq'),
    at timestamptz not null,
    cluster text not null,
    kind text not null,
    uid text not null,
    namespace text not null,
    name text not null,
    resource_version bigint not null,
    type text not null check (type in ('ADDED', 'MODIFIED', 'DELETED')),
    source text not null check (source in ('watch', 'relist', 'write')),
    writer text,
    projection jsonb not null,
    outcome text not null check (outcome in ('wake', 'ignored', 'stale')),
    reason text,
    primary key (at, seq)
  ) partition by range (at)`,
  `create table watch_event_default partition of watch_event default`,
  `create index watch_event_by_object on watch_event (uid, resource_version)`,

  // hash: HMAC of the declared content paths; null if the kind declares no content paths. deleted: the object no longer
  // exists; the row contains its last known state. presumed_deleted: a list did not contain the object and no DELETED
  // event was received; an event with the same resource version clears both columns.
  `create table object (
    cluster text not null,
    kind text not null,
    uid text not null,
    namespace text not null,
    name text not null,
    owner_uid text,
    resource_version bigint not null,
    seq bigint not null,
    projection jsonb not null,
    hash text,
    deleted boolean not null default false,
    presumed_deleted boolean not null default false,
    updated_at timestamptz not null,
    primary key (cluster, kind, uid)
  )`,
  `create index object_newest_version on object (cluster, kind, namespace, resource_version desc)`,
  `create index object_by_uid on object (uid)`,
  `create index object_by_name on object (cluster, kind, namespace, name)`,
  `create index object_by_owner on object (owner_uid) where owner_uid is not null`,
  // For the resync, which queries unfinished jobs.
  `create index object_unfinished on object (kind, uid) where not deleted
    and (projection #>> '{status,jobID}') is distinct from (projection #>> '{status,jobIDFinished}')`,

  // epoch counts the relists. lease_*: the bridge process that watches the kind.
  `create table watch_checkpoint (
    cluster text not null,
    kind text not null,
    resource_version bigint,
    epoch integer not null default 0,
    lease_owner text,
    lease_until timestamptz,
    updated_at timestamptz,
    primary key (cluster, kind)
  )`,

  `create sequence wake_version`,
  // The work queue: one row per controller and subject. job_id: always ''. foreign_event: at least one event has
  // another writer than the subject's run. may_start: at least one event may start a run; otherwise the wake only wakes
  // an open run. next_*: values of wakes that arrive during a lease. The dispatcher's pass handles the leased version,
  // so the leased version's due time and flags must not apply to later wakes. When the lease expires, both versions
  // count.
  `create table wake (
    controller text not null,
    uid text not null,
    job_id text not null default '',
    cluster text not null,
    namespace text not null,
    name text not null,
    seq bigint not null,
    version bigint not null,
    due timestamptz not null,
    foreign_event boolean not null,
    may_start boolean not null,
    writer text,
    cause text not null,
    lease_owner text,
    lease_until timestamptz,
    next_due timestamptz,
    next_foreign_event boolean,
    next_may_start boolean,
    primary key (controller, uid, job_id)
  )`,
  `create index wake_by_due on wake (due)`,

  // An event of the object wakes the subscribed subject.
  `create table subscription (
    controller text not null,
    uid text not null,
    job_id text not null,
    cluster text not null,
    kind text not null,
    namespace text not null,
    name text not null,
    created_at timestamptz not null,
    primary key (controller, uid, job_id, kind, namespace, name)
  )`,
  `create index subscription_by_object on subscription (cluster, kind, namespace, name)`,

  // outcome null: open. phases: [{phase, at}]. attempt counts consecutive retryable faults.
  `create table job (
    workflow_id text primary key,
    run_id text,
    controller text not null,
    cluster text not null,
    uid text not null,
    job_id text not null,
    namespace text not null,
    name text not null,
    cause text not null,
    phase text,
    phases jsonb not null default '[]',
    outcome text,
    attempt integer not null default 0,
    last_error jsonb,
    passes integer not null default 0,
    last_pass_at timestamptz,
    started_at timestamptz not null,
    finished_at timestamptz,
    lookup_after timestamptz,
    lookups integer not null default 0
  )`,
  `create index job_open on job (controller, uid) where outcome is null`,
  `create index job_by_object on job (uid, started_at desc)`,

  // One write. A run inserts the row before the request (finished_at null) and completes it with the answer. object:
  // kind/namespace/name. run_id is part of the key because a workflow ID may have several runs, and each run counts its
  // passes from 1.
  `create table action (
    seq bigint generated always as identity primary key,
    workflow_id text not null,
    run_id text not null,
    pass integer not null,
    step text not null,
    object text not null,
    verb text not null,
    field_manager text not null,
    resource_version bigint,
    error jsonb,
    started_at timestamptz not null,
    finished_at timestamptz,
    unique (workflow_id, run_id, pass, step, object, verb)
  )`,
  `create index action_pending on action (object) where finished_at is null`,

  // One row: the token bucket of all retries (seeds/chaos-mesh-controller-rules.txt: 10 per second, burst 100).
  `create table retry_bucket (
    id integer primary key check (id = 1),
    tokens double precision not null,
    updated_at timestamptz not null
  )`,
]
