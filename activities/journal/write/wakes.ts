// The durable work queue: due wakes, one row per controller and subject. Wakes are level-triggered: one or ten of them
// lead to one pass.
//
//   W1. Every upsert draws a new version, so that acknowledging an older version cannot lose the newer one.
//   W2. An upsert never moves the due time of a wake later; only `postponeWakes` does, and only for the claimed
//       version. Exception: a wake caused only by the run's own writes would be dropped while the run is open, so it
//       must not shorten the run's back-off.
//   W3. Wakes that arrive during a lease are stored separately, so that their due time and foreign cause do not stick
//       to a row that the running pass renews. When the lease expires, both count.
//   W4. No lock is held during a call: claim with a lease, commit, call, acknowledge.
//   W5. Writes of two runs are foreign to both: a wake may be dropped only for a run's own writes.
//   W6. Fairness: the oldest wake of a namespace precedes the second wake of any namespace that had as many claims
//       recently. So a namespace with thousands of wakes delays no other namespace.

import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database, WakeTable } from '../database.ts'
import { isInHandledPartition, type UnhandledPartitions, wakeNamespaces } from '../conditions.ts'

export type Wake = Selectable<WakeTable>

export interface NewWake {
  readonly controller: string
  readonly uid: string
  /** Always ''. */
  readonly job_id: string
  readonly cluster: string
  readonly namespace: string
  readonly name: string
  /** Sequence number of the newest causing event; 0 without an event. */
  readonly seq: number
  readonly due: Date
  readonly foreign_event: boolean
  readonly may_start: boolean
  /**
   * Workflow ID of the run whose write caused it. Without a foreign event it may be the subject's own run, or a run
   * without a row.
   */
  readonly writer: string | null
  readonly cause: string
}

/** PostgreSQL channel on which dispatchers listen. */
export const WAKE_CHANNEL = 'pawl_wake'

/**
 * Adds or renews wakes (W1, W2) and notifies the dispatchers. Call it in the transaction of their cause. A due time
 * before `now` counts as now, so that a late process does not overtake others.
 */
export async function upsertWakes(db: Kysely<Database>, wakes: readonly NewWake[], now: Date): Promise<void> {
  if (wakes.length === 0) return
  // One JSON parameter instead of twelve per row, because this is the hot path. Rows are ordered by key, so that two
  // batches cannot deadlock.
  const rows = JSON.stringify(mergeWakes(wakes).map((wake) => (wake.due < now ? { ...wake, due: now } : wake)))
  await sql`
    with upserted as (
      insert into wake (controller, uid, job_id, cluster, namespace, name, seq, version, due, foreign_event, may_start, writer, cause)
      select w.controller, w.uid, w.job_id, w.cluster, w.namespace, w.name, w.seq, nextval('wake_version'), w.due,
             w.foreign_event, w.may_start, w.writer, w.cause
      from (select * from json_to_recordset(${rows}::json) as r(
        controller text, uid text, job_id text, cluster text, namespace text, name text, seq bigint, due timestamptz,
        foreign_event boolean, may_start boolean, writer text, cause text) order by r.controller, r.uid, r.job_id) w
      on conflict (controller, uid, job_id) do update set
        -- What was said before the journal knew the object may name another place (expand.ts X1).
        namespace = excluded.namespace,
        name = excluded.name,
        version = excluded.version,
        seq = greatest(wake.seq, excluded.seq),
        writer = coalesce(excluded.writer, wake.writer),
        cause = case when excluded.seq > 0 or excluded.due < wake.due then excluded.cause else wake.cause end,
        due = case when ${LEASED} then wake.due
                   when ${BACKS_OFF} and not wake.foreign_event then greatest(wake.due, excluded.due)
                   else least(wake.due, excluded.due) end,
        foreign_event = wake.foreign_event or (excluded.foreign_event and not ${LEASED}) or ${OF_TWO_WRITERS},
        may_start = wake.may_start or (excluded.may_start and not ${LEASED}),
        next_due = case when ${LEASED} and ${BACKS_OFF} and not wake.next_foreign_event then greatest(wake.next_due, excluded.due)
                        when ${LEASED} then least(wake.next_due, excluded.due) end,
        next_foreign_event = case when not ${LEASED} then null when wake.next_foreign_event is null then excluded.foreign_event
                                  else wake.next_foreign_event or excluded.foreign_event or ${OF_TWO_WRITERS} end,
        next_may_start = case when ${LEASED} then coalesce(wake.next_may_start, false) or excluded.may_start end
      returning 1)
    select pg_notify(${WAKE_CHANNEL}, '') from upserted limit 1`.execute(db)
}

/** Merges wakes to one per subject, as successive upserts would. */
export function mergeWakes(wakes: readonly NewWake[]): NewWake[] {
  const bySubject = new Map<string, { wake: NewWake; causes: Set<string> }>()
  for (const wake of wakes) {
    const key = `${wake.controller} ${wake.uid} ${wake.job_id}`
    const earlier = bySubject.get(key)
    if (earlier === undefined) {
      bySubject.set(key, { wake, causes: new Set([wake.cause]) })
      continue
    }
    earlier.wake = mergeTwo(earlier.wake, wake)
    earlier.causes.add(wake.cause)
  }
  return [...bySubject.values()].map(({ wake, causes }) => ({ ...wake, cause: joinCauses([...causes]) }))
}

// A cause is part of the details of a start, which Temporal limits to 20,000 bytes.
const LONGEST_CAUSE = 500

/** Joins causes within the limit: `a; b; c and 497 more`. */
function joinCauses(causes: readonly string[]): string {
  const whole = causes.join('; ')
  if (whole.length <= LONGEST_CAUSE) return whole
  const room = LONGEST_CAUSE - ` and ${causes.length} more`.length
  const [first = '', ...rest] = causes
  let text = first.slice(0, room)
  let count = 1
  for (const cause of rest) {
    if (text.length + 2 + cause.length > room) break
    text = `${text}; ${cause}`
    count += 1
  }
  return count === causes.length ? text : `${text} and ${causes.length - count} more`
}

function mergeTwo(earlier: NewWake, later: NewWake): NewWake {
  return {
    ...later,
    seq: Math.max(earlier.seq, later.seq),
    due: earlier.due < later.due ? earlier.due : later.due,
    foreign_event: earlier.foreign_event || later.foreign_event || earlier.writer !== later.writer,
    may_start: earlier.may_start || later.may_start,
    writer: later.writer ?? earlier.writer,
  }
}

export interface Claim {
  /** Only wakes of this cluster; several clusters may share a journal. */
  readonly cluster: string
  /** Only wakes of these controllers; undefined: of all. */
  readonly controllers?: readonly string[] | undefined
  /** Excludes wakes of subjects in these partitions. */
  readonly unhandledPartitions?: readonly UnhandledPartitions[] | undefined
  readonly owner: string
  /** Maximum number of wakes that start no run. */
  readonly limit: number
  /** Maximum number of additional wakes that may start a run; undefined: `limit`. */
  readonly starts?: number
  /** Maximum of both together; undefined: `limit` + `starts`. */
  readonly most?: number
  /** Recent claims by namespace (W6); undefined: none. */
  readonly recentTurns?: Readonly<Record<string, number>>
  readonly leaseMs: number
  readonly now: Date
}

/**
 * Prefix of lease owners that may claim (migrations/0006), so that dispatchers of builds with another form of runs
 * claim nothing. It changes together with RUNS_VERSION of worker/reconciler/settings.ts, in a migration.
 */
const CLAIMANT_PREFIX = 'runs 2 '

// Additional candidates in place of rows that other transactions have locked.
const SPARE_CANDIDATES = 20

/**
 * Claims due wakes without a lease (W6), separately by whether they may start a run. An expired lease does not count.
 */
export async function claimWakes(
  db: Kysely<Database>,
  {
    cluster,
    controllers,
    unhandledPartitions = [],
    owner,
    limit,
    starts = limit,
    most,
    recentTurns = {},
    leaseMs,
    now,
  }: Claim,
): Promise<Wake[]> {
  const ours = sql`${isOfControllers(controllers)} and ${isInHandledPartition('w', unhandledPartitions)}`
  const releaseWake = sql`w.due <= ${now} and (w.lease_until is null or w.lease_until <= ${now})`
  const { rows } = await sql<Wake>`
    with recursive ${wakeNamespaces(cluster)},
    turn as (
      select w.*, row_number() over (partition by w.namespace, w.may_start order by w.due)
        + coalesce((${JSON.stringify(recentTurns)}::jsonb ->> w.namespace)::int, 0) as turn
      from space cross join (values (false, ${limit + SPARE_CANDIDATES}::int), (true, ${starts === 0 ? 0 : starts + SPARE_CANDIDATES}::int)) as most (may_start, count)
      cross join lateral (
        select w.controller, w.uid, w.job_id, w.namespace, w.may_start, w.due from wake w
        where w.cluster = ${cluster} and w.namespace = space.namespace and w.may_start = most.may_start and ${releaseWake}${ours}
        order by w.due limit most.count) w),
    waking as (${lockedWakes({ mayStart: false, most: limit, free: releaseWake })}),
    starting as (${lockedWakes({ mayStart: true, most: starts, free: releaseWake })}),
    taken as (select * from waking union all select * from starting limit ${most ?? limit + starts}::int)
    update wake set lease_owner = ${CLAIMANT_PREFIX + owner}, lease_until = ${new Date(now.getTime() + leaseMs)},
      foreign_event = wake.foreign_event or coalesce(wake.next_foreign_event, false),
      may_start = wake.may_start or coalesce(wake.next_may_start, false),
      next_due = null, next_foreign_event = null, next_may_start = null
    from taken where wake.controller = taken.controller and wake.uid = taken.uid and wake.job_id = taken.job_id
    returning wake.*`.execute(db)
  return rows
}

/**
 * Time at which the next wake for `claimWakes` is due or its lease expires; undefined when no wake exists. With
 * `starts` 0: of wakes that start no run.
 */
export async function nextWakeDue(
  db: Kysely<Database>,
  {
    cluster,
    controllers,
    unhandledPartitions = [],
    starts,
  }: Pick<Claim, 'cluster' | 'controllers' | 'unhandledPartitions' | 'starts'>,
): Promise<Date | undefined> {
  const those = starts === 0 ? sql` and not may_start` : sql``
  const { rows } = await sql<{ due: Date | null }>`
    select min(greatest(due, coalesce(lease_until, due))) as due from wake
    where cluster = ${cluster}${isOfControllers(controllers)}${those} and ${isInHandledPartition('wake', unhandledPartitions)}`.execute(
    db,
  )
  return rows[0]?.due ?? undefined
}

/**
 * Acknowledges claimed wakes after their pass. 'renewed': another wake arrived meanwhile, so the row stays with the
 * values of that wake and without a lease (W3).
 */
export async function acknowledgeWakes(
  db: Kysely<Database>,
  wakes: readonly Wake[],
): Promise<readonly ('deleted' | 'renewed')[]> {
  const { rows } = await sql<Pick<Wake, 'version'>>`
    delete from wake using (
      select controller, uid, job_id from wake where version = any(${wakes.map(({ version }) => version)}::bigint[])
        and uid = any(${[...new Set(wakes.map(({ uid }) => uid))]}::text[])
      order by controller, uid, job_id for update) taken
    where wake.controller = taken.controller and wake.uid = taken.uid and wake.job_id = taken.job_id
      and wake.version = any(${wakes.map(({ version }) => version)}::bigint[])
    returning wake.version`.execute(db)
  const deleted = new Set(rows.map(({ version }) => version))
  const answers = wakes.map(({ version }) => (deleted.has(version) ? ('deleted' as const) : ('renewed' as const)))
  // A separate statement: it must see the row after the upsert that the deletion lost against.
  for (const [index, wake] of wakes.entries()) if (answers[index] === 'renewed') await free(db, wake)
  return answers
}

/**
 * Releases a renewed wake. The events of the claimed wake have led to a pass: without a newer event only the due time
 * remains.
 */
async function free(db: Kysely<Database>, wake: Wake): Promise<void> {
  await sql`
    with freed as (
      update wake set due = coalesce(next_due, due), seq = case when seq = ${wake.seq} then 0 else seq end, foreign_event = coalesce(next_foreign_event, foreign_event),
        may_start = coalesce(next_may_start, may_start), ${RELEASED}
      where ${isHeldBy(wake)} returning 1)
    select pg_notify(${WAKE_CHANNEL}, '') from freed`.execute(db)
}

export interface Postponed {
  readonly wake: Wake
  readonly due: Date
}

/** Releases claimed wakes with a new due time; wakes that arrived meanwhile keep their own time (W2). */
export async function postponeWakes(db: Kysely<Database>, postponed: readonly Postponed[]): Promise<void> {
  const rows = postponed.map(({ wake: { controller, uid, job_id, lease_owner }, due }) => ({
    controller,
    uid,
    job_id,
    lease_owner,
    due,
  }))
  await sql`
    with freed as (
      update wake set due = least(wake.next_due, p.due), foreign_event = wake.foreign_event or coalesce(wake.next_foreign_event, false),
        may_start = wake.may_start or coalesce(wake.next_may_start, false), ${RELEASED}
      from (select w.controller, w.uid, w.job_id, r.due
            from json_to_recordset(${JSON.stringify(rows)}::json) as r(
              controller text, uid text, job_id text, lease_owner text, due timestamptz)
            join wake w on w.controller = r.controller and w.uid = r.uid and w.job_id = r.job_id and w.lease_owner = r.lease_owner
            order by w.controller, w.uid, w.job_id for update of w) p
      where wake.controller = p.controller and wake.uid = p.uid and wake.job_id = p.job_id returning 1)
    select pg_notify(${WAKE_CHANNEL}, '') from freed limit 1`.execute(db)
}

function isOfControllers(controllers: readonly string[] | undefined): RawBuilder<unknown> {
  return controllers === undefined ? sql`` : sql` and controller = any(${controllers}::text[])`
}

/** The first wakes in fair order that no other transaction has locked. */
function lockedWakes({ mayStart, most, free }: { mayStart: boolean; most: number; free: RawBuilder<unknown> }) {
  return sql`
    select w.controller, w.uid, w.job_id from wake w join turn using (controller, uid, job_id)
    where turn.may_start = ${mayStart} and ${free} order by turn.turn, turn.due limit ${most} for update of w skip locked`
}

const LEASED = sql`(wake.lease_until is not null)`
/** A run's own next due time, on a row that the same run has written before. */
const BACKS_OFF = sql`(excluded.foreign_event and excluded.writer = wake.writer)`
/** The row has another writer than the new wake (W5). */
const OF_TWO_WRITERS = sql`(excluded.writer is distinct from wake.writer)`
const RELEASED = sql`lease_owner = null, lease_until = null, next_due = null, next_foreign_event = null, next_may_start = null`

/** The row while it has the lease of the claimed wake. */
function isHeldBy({ controller, uid, job_id, lease_owner }: Wake): RawBuilder<unknown> {
  return sql`controller = ${controller} and uid = ${uid} and job_id = ${job_id} and lease_owner = ${lease_owner}`
}
