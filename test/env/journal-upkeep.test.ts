// Migrations, partitions and retention of the journal, against a real PostgreSQL.

import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { beginActions } from '../../activities/journal/write/actions.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { openDatabase } from '../../activities/journal/database.ts'
import { migrateUp, migrationStatus } from '../../activities/journal/migrate.ts'
import { ensurePartitions } from '../../activities/journal/write/partitions.ts'
import { pruneJournal } from '../../activities/journal/write/retention.ts'
import { subscribe } from '../../activities/journal/write/subscriptions.ts'
import { deps, seen, unrouted } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { endJob, openJob } from '../activities/journal/one-row.ts'
import { readRows } from '../activities/journal/use-journal.ts'
import { migrationNames, undoMigrations } from '../activities/journal/undo-migrations.ts'

let test: TestDatabase
beforeEach(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl, { migrated: false })
})
afterEach(async () => {
  await test.drop()
})

const DAY_MS = 24 * 60 * 60 * 1000
const TODAY = new Date('2026-03-10T12:00:00Z')
const daysAgo = (days: number): Date => new Date(TODAY.getTime() - days * DAY_MS)
const prune = async (days: number, db = test.db) => await pruneJournal(db, days * DAY_MS, TODAY)
/** Uses another connection, which ends afterwards. */
async function withClient(act: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: test.url })
  await client.connect()
  try {
    await act(client)
  } finally {
    await client.end()
  }
}

describe('migrating an empty database', () => {
  it('applies every migration once, even if several processes migrate at the same time', async () => {
    const names = await migrationNames()
    expect(await migrationStatus(test.url)).toEqual(names.map((name) => ({ name, appliedAt: undefined })))
    const applied = await Promise.all([migrateUp(test.url), migrateUp(test.url), migrateUp(test.url)])
    expect(applied.flat()).toEqual(names)
    const all = names.map((name) => ({ name, appliedAt: expect.any(Date) as Date }))
    expect(await migrationStatus(test.url)).toMatchObject(all)
  })
})

describe('migrating while processes write to the journal', () => {
  it('waits for the open transactions of these processes, and does not deadlock with them', async () => {
    await migrateUp(test.url)
    const later = await undoMigrations(test.db, '0008_prune_by_index')
    await withClient(async (journaling) => {
      // The lock order of journal writers: the object table first, the action table last.
      await journaling.query('begin; lock table object in row exclusive mode')
      const migrating = migrateUp(test.url)
      await expect
        .poll(async () => (await sql`select from pg_locks where not granted`.execute(test.db)).rows.length)
        .toBeGreaterThan(0)
      await journaling.query('lock table wake, job, action in row exclusive mode; commit')
      expect(await migrating).toEqual(later)
    })
  })
})

describe('the partitions of events', () => {
  const partitions = async (): Promise<string[]> => {
    const { rows } = await sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'watch_event'::regclass order by 1`.execute(test.db)
    return rows.map(({ name }) => name).filter((name) => name !== 'watch_event_default')
  }
  const journalAt = async (at: Date, version: number, uid = `u${version}`) =>
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'watch', events: [seen('MODIFIED', { uid, version })] },
      { ...deps, now: () => at },
    )
  const versions = async () =>
    (await readRows(test.db, 'watch_event', ['resource_version'])).map((row) => row.resource_version)
  /** Journals one event on each of these days, for the subjects u1, u2, ... Only the wakes of some uids stay. */
  const journalDays = async (days: readonly number[], ...woken: readonly string[]) => {
    await migrateUp(test.url, daysAgo(20))
    await ensurePartitions(test.db, daysAgo(13))
    for (const [index, ago] of days.entries()) await journalAt(daysAgo(ago), index + 1)
    await test.db
      .deleteFrom('wake')
      .where('uid', 'not in', ['', ...woken])
      .execute()
  }
  const openTask = async (uid: string, started_at: Date) =>
    await openJob(test.db, job({ workflow_id: `task/${uid}`, uid, started_at }))

  it('are created a week ahead, and receive the events of their day from the default partition', async () => {
    await migrateUp(test.url, daysAgo(30))
    await journalAt(TODAY, 1)
    expect((await ensurePartitions(test.db, TODAY))[0]).toBe('watch_event_20260310')
    expect(await ensurePartitions(test.db, TODAY)).toEqual([])
    const { rows } = await sql<{ name: string }>`select tableoid::regclass::text as name from watch_event`.execute(
      test.db,
    )
    expect(rows).toEqual([{ name: 'watch_event_20260310' }])
    await journalAt(TODAY, 2)
    expect(await versions()).toEqual([1, 2])
  })

  it('are dropped if all their events are older than the retention and none is needed', async () => {
    await journalDays([20, 10, 6, 5, 3, 1])
    const pruned = await prune(5)
    expect(pruned).toMatchObject({ before: daysAgo(5) })
    expect(pruned?.partitions).toContain('watch_event_20260218')
    expect(await versions()).toEqual([4, 5, 6])
    expect((await partitions()).every((name) => name >= 'watch_event_20260305')).toBe(true)
  })

  it('include a default partition, from which pruning deletes only old events', async () => {
    await migrateUp(test.url, daysAgo(30))
    await journalAt(daysAgo(7), 1)
    await journalAt(daysAgo(1), 2)
    await test.db.deleteFrom('wake').execute()
    expect(await prune(5)).toMatchObject({ rows: 1 })
    expect(await versions()).toEqual([2])
  })

  it('keep the event of a pending wake, and no other old event', async () => {
    await journalDays([20, 15, 15, 10], 'u2')
    await prune(1)
    expect(await versions()).toEqual([2])
    expect((await partitions()).filter((name) => name < 'watch_event_20260309')).toEqual(['watch_event_20260223'])
  })

  it('keep the events of an open job and of its children until the job ends, and no other old events', async () => {
    await journalDays([20, 16, 16, 12, 12, 10])
    await journalAt(daysAgo(14), 11, 'u2')
    await journalAt(daysAgo(8), 12, 'u2')
    await journalAt(daysAgo(8), 13, 'u4')
    await test.db.deleteFrom('wake').execute()
    // u4 is a child of u2.
    await test.db.updateTable('object').set({ owner_uid: 'u2' }).where('uid', '=', 'u4').execute()
    await openTask('u2', daysAgo(13))
    await prune(1)
    expect(await versions()).toEqual([2, 4, 11, 12, 13])
    await endJob(test.db, 'task/u2', daysAgo(2))
    await prune(1)
    expect(await versions()).toEqual([])
  })

  it('stay while a long transaction reads them, so that pruning never blocks writers of the journal, and are dropped afterwards', async () => {
    await journalDays([20, 10, 1])
    await withClient(async (reader) => {
      await reader.query('begin; select count(*) from watch_event')
      const pruned = await Promise.all([
        prune(5),
        ...[21, 22, 23].map(async (version) => await journalAt(TODAY, version)),
      ])
      expect(pruned[0]?.partitions).toEqual([])
      expect(await versions()).toEqual([1, 2, 3, 21, 22, 23])
      await reader.query('commit; begin; lock table only watch_event in row exclusive mode')
      expect((await prune(5))?.partitions).toEqual([])
      expect(await versions()).toEqual([3, 21, 22, 23])
      await reader.query('commit')
      expect((await prune(5))?.partitions.length).toBeGreaterThan(1)
    })
  })

  it('are pruned within a statement timeout of 20 s, even if an open job has 4,000 objects', async () => {
    await journalDays([20, 15])
    await openTask('u2', daysAgo(16))
    // A job with 4,000 objects, and a day with ten times as many events of other objects.
    await sql`insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, updated_at)
      select 'c', 'g', 'K', 'child' || n, 'ns', 'n' || n, 'u2', 1, 1, '{}', ${TODAY}::timestamptz from generate_series(1, 4000) n`.execute(
      test.db,
    )
    await sql`insert into watch_event (seq, at, cluster, api_group, kind, uid, namespace, name, resource_version, type, source, projection, outcome)
      select n, ${daysAgo(15)}::timestamptz, 'c', 'g', 'K', 'other' || n, '', 'n', n, 'ADDED', 'watch', '{}', 'ignored' from generate_series(100, 40100) n`.execute(
      test.db,
    )
    const db = openDatabase(test.url, 1, { statementMs: 20_000 })
    expect((await prune(5, db))?.rows).toBe(40_001)
    await db.destroy()
    expect(await versions()).toEqual([2])
  })

  it('are pruned without errors if several processes prune at the same time', async () => {
    await journalDays([20, 15, 10, 1])
    const all = await Promise.all([1, 2, 3].map(() => prune(5)))
    expect(all.filter((pruned) => pruned !== undefined)).not.toEqual([])
    expect(await versions()).toEqual([4])
    expect(await partitions()).toEqual([])
  })
})

describe('ended jobs and deleted objects', () => {
  it('are pruned by the same retention, with their actions and subscriptions; the rows of an open job stay', async () => {
    await migrateUp(test.url, daysAgo(20))
    const jobs = { old: [15, 12], recent: [10, 2], late: [4, undefined] } as const
    for (const [uid, [started, ended]] of Object.entries(jobs)) {
      const started_at = daysAgo(started)
      const action = { workflow_id: uid, run_id: 'r', pass: 1, step: 's', object: 'o', verb: 'patch' }
      await openJob(test.db, job({ uid, workflow_id: uid, started_at }))
      await beginActions(test.db, [{ ...action, field_manager: 'f', started_at }])
      const wait = { controller: 'task', uid, job_id: 'j1', cluster: 'c', namespace: '', group: 'g', kind: 'K' }
      if (ended !== undefined) await endJob(test.db, uid, daysAgo(ended))
      await subscribe(test.db, { ...wait, name: 'n' }, started_at)
    }
    const events = [seen('ADDED', { uid: 'x', version: 1 }), seen('DELETED', { uid: 'x', version: 2 })]
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'watch', events: [...events, seen('ADDED', { uid: 'y', version: 3 })] },
      { ...unrouted, now: () => daysAgo(8) },
    )
    await prune(3)
    for (const table of ['job', 'action'] as const)
      expect(await readRows(test.db, table, ['workflow_id'])).toEqual([
        { workflow_id: 'late' },
        { workflow_id: 'recent' },
      ])
    expect(await readRows(test.db, 'subscription', ['uid'])).toEqual([{ uid: 'late' }])
    expect(await readRows(test.db, 'object', ['uid'])).toEqual([{ uid: 'y' }])
  })

  it('are pruned even if their owner reference names the uid of a job in another namespace', async () => {
    await migrateUp(test.url, daysAgo(20))
    await openJob(test.db, job({ uid: 'root', workflow_id: 'root', started_at: daysAgo(15) }))
    await sql`insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, updated_at, deleted)
      select 'c', 'g', 'K', 'in ' || namespace, namespace, 'n', 'root', 1, 1, '{}', ${daysAgo(8)}::timestamptz, true
      from (values ('ns'), ('other')) as place (namespace)`.execute(test.db)
    await prune(3)
    expect(await readRows(test.db, 'object', ['uid'])).toEqual([{ uid: 'in ns' }])
  })

  it('are pruned together with old actions, which pruning finds by an index instead of a full scan', async () => {
    await migrateUp(test.url, daysAgo(20))
    await sql`insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, started_at, finished_at)
      select 'run ' || n, 'r', 1, 's', 'K ns/n', 'patch', 'f', at, at
      from generate_series(1, 60000) n cross join lateral (values (${daysAgo(15)}::timestamptz + n * interval '15 seconds')) as time (at)
      order by n`.execute(test.db)
    await sql`vacuum analyze action`.execute(test.db)
    const scans = async () => {
      const { rows } = await sql<{ scans: number }>`
        select idx_scan as scans from pg_stat_user_indexes where indexrelname = 'action_by_time'`.execute(test.db)
      return rows[0]?.scans
    }
    expect(await scans()).toBe(0)
    // Prunes only the oldest actions.
    const { before: until = TODAY } = (await prune(14.8)) ?? {}
    // PostgreSQL updates its statistics with a delay.
    await expect.poll(scans).toBeGreaterThan(0)
    const oldest = await test.db.selectFrom('action').select('started_at').orderBy('started_at').limit(1).execute()
    expect(oldest[0]?.started_at.getTime()).toBeGreaterThanOrEqual(until.getTime())
  })
})
