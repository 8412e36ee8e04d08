// Daily partitions of `watch_event`: created ahead, dropped by retention. The default partition stores rows of other
// days.
//
//   P2. Creating a partition loses no row: rows of its day move from the default partition.
//   P3. No transaction that journals events waits for the drop of a partition. Truncating locks that day alone.
//       Dropping locks all partitions for a moment: the lock is taken only if it is free, because writers would queue
//       behind a waiting lock.

import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DAYS_AHEAD = 7
/** Key of the advisory lock for changes of partitions; any constant. */
const PARTITION_LOCK = 7_294_105
const LOCK_NOT_AVAILABLE = '55P03'

/** Creates the partitions of today and the next days; returns their names. */
export async function ensurePartitions(db: Kysely<Database>, now: Date): Promise<string[]> {
  return await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${PARTITION_LOCK})`.execute(trx)
    const existing = new Set((await partitionsOf(trx)).map(({ name }) => name))
    const made: string[] = []
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
      const from = startOfDay(now.getTime() + ahead * DAY_MS)
      const name = partitionName(from)
      if (existing.has(name)) continue
      await createPartition(trx, name, from)
      made.push(name)
    }
    return made
  })
}

export interface Partition {
  readonly name: string
  /** Start (inclusive) and end (exclusive). */
  readonly from: Date
  readonly until: Date
}

/** The partitions that end before `before`, oldest first. */
export async function partitionsBefore(db: Kysely<Database>, before: Date): Promise<readonly Partition[]> {
  return (await partitionsOf(db)).filter(({ until }) => until.getTime() <= before.getTime())
}

/**
 * Truncates and drops the partition. No row of it may be needed; its day is over, so it gets no new rows.
 *
 * @returns false when another transaction uses the table (P3): it is empty or unchanged, and the next call retries.
 */
export async function dropPartition(db: Kysely<Database>, { name }: Partition): Promise<boolean> {
  const table = sql.table(name)
  const truncated = await withoutWaiting(db, async (trx) => {
    await sql`lock table only ${table} in access exclusive mode nowait`.execute(trx)
    await sql`truncate ${table}`.execute(trx)
  })
  if (!truncated) return false
  return await withoutWaiting(db, async (trx) => {
    await sql`lock table only watch_event, only watch_event_default, only ${table} in access exclusive mode nowait`.execute(
      trx,
    )
    await sql`drop table ${table}`.execute(trx)
  })
}

/**
 * Runs a transaction that takes its locks immediately or fails. @returns false if a lock was not free.
 */
async function withoutWaiting(
  db: Kysely<Database>,
  work: (trx: Transaction<Database>) => Promise<void>,
): Promise<boolean> {
  try {
    await db.transaction().execute(work)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

async function createPartition(trx: Transaction<Database>, name: string, from: Date): Promise<void> {
  const until = new Date(from.getTime() + DAY_MS)
  const table = sql.table(name)
  // It is attached after the rows are moved: PostgreSQL refuses a new partition while the default partition has rows of
  // its day.
  await sql`create table ${table} (like watch_event including defaults including constraints)`.execute(trx)
  await sql`with moved as (delete from only watch_event_default where at >= ${from} and at < ${until} returning *)
    insert into ${table} select * from moved`.execute(trx)
  await sql`alter table watch_event attach partition ${table}
    for values from (${sql.lit(from.toISOString())}) to (${sql.lit(until.toISOString())})`.execute(trx)
}

async function partitionsOf(db: Kysely<Database>): Promise<Partition[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'watch_event'::regclass order by 1`.execute(db)
  return rows.flatMap(({ name }) => {
    const day = /^watch_event_(\d{4})(\d\d)(\d\d)$/.exec(name)
    if (day === null) return []
    const from = Date.UTC(Number(day[1]), Number(day[2]) - 1, Number(day[3]))
    return [{ name, from: new Date(from), until: new Date(from + DAY_MS) }]
  })
}

function startOfDay(at: number): Date {
  return new Date(Math.floor(at / DAY_MS) * DAY_MS)
}

function partitionName(day: Date): string {
  return `watch_event_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
}
