// Daily partitions of `watch_event`: made ahead, dropped by retention. The default partition catches what falls outside.
//
//   P2. Making a partition loses no row: what the default partition holds of that day moves into it.
//   P3. Nobody who journals waits for a partition that goes. Emptying it locks that day alone. Dropping needs all days for a moment: the lock is
//       taken when it is free, never waited for, because whoever journals would wait behind.

import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DAYS_AHEAD = 7
/** Any constant: one process at a time changes the partitions. */
const PARTITION_LOCK = 7_294_105
const LOCK_NOT_AVAILABLE = '55P03'

/** Makes the partitions of today and of the next days; returns the names of those it made. */
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
  /** Its first moment, and the first one after it. */
  readonly from: Date
  readonly until: Date
}

/** The partitions of days that are over at `before`, oldest first. */
export async function partitionsBefore(db: Kysely<Database>, before: Date): Promise<readonly Partition[]> {
  return (await partitionsOf(db)).filter(({ until }) => until.getTime() <= before.getTime())
}

/**
 * Gives the partition's room back and drops it. No row of it may be needed: there are no new ones, because its day is over.
 *
 * @returns false when somebody uses the table at the moment (P3): it is empty or whole then, and goes another time.
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

/** Has the work done in a transaction that takes its locks at once or not at all. */
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
  // Attached when it is full: creating it as a partition is refused while the default partition holds rows of that day.
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
