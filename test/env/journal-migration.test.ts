// Migrates a journal of schema version 1, in which kinds have no API group, and checks that its contents stay usable; against a real PostgreSQL.

import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'

import { beginActions, finishActions } from '../../activities/journal/write/actions.ts'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import type { Database } from '../../activities/journal/database.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { migrateUp } from '../../activities/journal/migrate.ts'
import { ensurePartitions } from '../../activities/journal/write/partitions.ts'
import * as createJournal from '../../migrations/0001_create_journal.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import { defineLevel, groupKindOf, nop } from '../../workflows/kit/index.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { deps, NOW, seen } from '../activities/journal/build-events.ts'
import { findOpenJob, readObject } from '../activities/journal/one-row.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { readRows } from '../activities/journal/use-journal.ts'
import { migrationNames } from '../activities/journal/undo-migrations.ts'

const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'
const UNFINISHED = JSON.stringify({ metadata: { uid: 'i' }, status: { jobID: JOB, phase: 'Progressing' } })
const RUN = `installation/i/${JOB}`
const journal = { ...deps, ...builtInRegistry }

let test: TestDatabase
let db: Kysely<Database>
beforeEach(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl, { migrated: false })
  db = test.db
  await migrateFirst()
  await fill()
  expect(await migrateUp(test.url, NOW)).toEqual((await migrationNames()).slice(1))
})
afterEach(async () => {
  await test.drop()
})

describe('the migration of a version 1 journal', () => {
  it('keeps an unfinished job, its object with an API group, its subscriptions, and the checkpoints of built-in kinds', async () => {
    expect(await readObject(db, 'c', groupKindOf(installationKind), 'i')).toMatchObject({ resource_version: 7, seq: 3 })
    const wake = await db.selectFrom('wake').selectAll().where('controller', '=', 'installation').executeTakeFirst()
    expect(wake).toMatchObject({ uid: 'i', version: 1, foreign_event: true })
    const resolve = async () => await resolveWake(wake!, directLookups(db))
    expect(await resolve()).toMatchObject({ to: 'open', job: { workflow_id: RUN } })

    // The leases of the previous bridge are released.
    const lease = { cluster: 'c', ...groupKindOf(installationKind), owner: 'new', leaseMs: 60_000 }
    expect(await acquireLease(db, lease)).toMatchObject({ resourceVersion: 9, epoch: 4 })

    await db.deleteFrom('wake').execute()
    const awaited = seen('ADDED', { uid: 'e', name: 'again', version: 10, finalizers: [FINALIZER] }, executionKind)
    await journalEvents(db, { cluster: 'c', source: 'watch', events: [awaited] }, journal)
    expect(await readRows(db, 'wake', ['controller', 'uid', 'cause'])).toEqual([
      { controller: 'installation', uid: 'i', cause: 'waits for Execution again' },
    ])

    await db.deleteFrom('job').execute()
    const run = { workflowID: `installation/ns/i/i/${JOB}`, input: { subject: groupKindOf(installationKind) } }
    expect(await resolve()).toMatchObject({ to: 'start', run })
  })

  it('keeps the row of an unfinished job, and the write that finishes the job closes the row', async () => {
    const status = { jobID: JOB, jobIDFinished: JOB, phase: 'Succeeded' }
    const ended = seen('MODIFIED', { uid: 'i', version: 8, status }, installationKind)
    await journalEvents(db, { cluster: 'c', source: 'write', writer: RUN, events: [ended] }, journal)
    expect(await findOpenJob(db, 'installation', 'i')).toBeUndefined()
    expect(await readRows(db, 'object', ['uid'])).toEqual([{ uid: 'i' }])
  })

  it('makes the bridge relist a kind with an unknown API group, and wakes the open run of its object', async () => {
    for (const table of ['object', 'watch_checkpoint', 'subscription'] as const)
      expect(await readRows(db, table, ['kind'])).not.toContainEqual({ kind: 'Widget' })
    const level = await db.selectFrom('wake').selectAll().where('controller', '=', 'widget').executeTakeFirstOrThrow()
    expect(level).toMatchObject({ uid: 'w', seq: 0, foreign_event: true, cause: 'the journal was migrated' })
    const target = { apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets' }
    const registry = createRegistry([defineLevel({ name: 'widget', target, queries: {}, plan: nop })])
    expect(await resolveWake(level, directLookups(db, registry))).toMatchObject({
      to: 'open',
      job: { workflow_id: 'widget/w', outcome: null },
    })
    const lease = { cluster: 'c', ...groupKindOf(target), owner: 'new', leaseMs: 60_000 }
    expect(await acquireLease(db, lease)).toMatchObject({ resourceVersion: undefined, epoch: 0 })
  })

  it('keeps events and actions, with the API group if it is known; the retry of an unfinished write finishes its row', async () => {
    const { group } = installationKind
    const events = async () => await readRows(db, 'watch_event', ['resource_version', 'api_group', 'kind'])
    expect(await events()).toEqual([
      { api_group: group, kind: 'Installation', resource_version: 7 },
      { api_group: '?', kind: 'Widget', resource_version: 8 },
    ])
    const object = `Installation.${group}/ns/i`
    expect(await readRows(db, 'action', ['object', 'api_group', 'kind', 'namespace', 'name'])).toEqual([
      { object, api_group: group, kind: 'Installation', namespace: 'ns', name: 'i' },
      { object: 'Widget.?/ns/w', api_group: '?', kind: 'Widget', namespace: 'ns', name: 'w' },
    ])
    const begun = { ...write('Installation', 'i'), object, started_at: NOW }
    await beginActions(db, [begun])
    await finishActions(db, [{ ...begun, resource_version: 8, error: null, finished_at: NOW }])
    expect(await readRows(db, 'action', ['object', 'resource_version', 'finished_at'])).toEqual([
      { object, resource_version: 8, finished_at: NOW },
      { object: 'Widget.?/ns/w', resource_version: null, finished_at: null },
    ])
    await ensurePartitions(db, new Date(NOW.getTime() + 40 * 86_400_000))
    expect(await events()).toHaveLength(2)
  })
})

describe('a process of an earlier version on a migrated journal', () => {
  it('of schema version 1 cannot write objects, events or leases, so that no row lacks an API group', async () => {
    await expect(insertObject('Installation', 'late')).rejects.toThrow('api_group')
    await expect(insertEvent('Installation', 9)).rejects.toThrow('api_group')
    const taken = sql`insert into watch_checkpoint (cluster, kind, lease_owner) values ('c', 'Installation', 'old')
      on conflict (cluster, kind) do update set lease_owner = excluded.lease_owner`
    await expect(taken.execute(db)).rejects.toThrow('no unique or exclusion constraint')
  })

  it('of a version without handled types can write job rows, and its runs handle all types', async () => {
    await insertJob('installation/former', 'installation', 'former', JOB)
    expect(await findOpenJob(db, 'installation', 'former')).toMatchObject({ serves: null, outcome: null })
  })
})

async function migrateFirst(): Promise<void> {
  const migrations: Record<string, Migration> = { '0001_create_journal': createJournal }
  const migrator = new Migrator({ db, provider: { getMigrations: () => Promise.resolve(migrations) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw new Error('the first version cannot be made', { cause: error })
}

/** As the first version wrote it: an Installation with a job, and a Widget in level mode. */
async function fill(): Promise<void> {
  for (const [kind, uid] of [
    ['Installation', 'i'],
    ['Widget', 'w'],
  ] as const) {
    await insertObject(kind, uid)
    await sql`insert into watch_checkpoint (cluster, kind, resource_version, epoch, lease_owner, lease_until)
      values ('c', ${kind}, 9, 4, 'old', now() + interval '1 hour')`.execute(db)
    const level = kind === 'Widget'
    const controller = kind.toLowerCase()
    await insertJob(level ? 'widget/w' : RUN, controller, uid, level ? '' : JOB)
    const { workflow_id, run_id, pass, step, object, verb, field_manager } = write(kind, uid)
    await sql`insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, started_at)
      values (${workflow_id}, ${run_id}, ${pass}, ${step}, ${object}, ${verb}, ${field_manager}, ${NOW})`.execute(db)
    await sql`insert into subscription (controller, uid, job_id, cluster, kind, namespace, name, created_at)
      values (${controller}, ${uid}, ${level ? '' : JOB}, 'c', ${level ? 'Widget' : 'Execution'}, 'ns', 'again', ${NOW})`.execute(
      db,
    )
  }
  await insertEvent('Installation', 7)
  await insertEvent('Widget', 8)
  await sql`insert into wake (controller, uid, job_id, cluster, namespace, name, seq, version, due, foreign_event, may_start, cause)
    values ('installation', 'i', '', 'c', 'ns', 'i', 1, nextval('wake_version'), ${NOW}, true, true, 'test')`.execute(
    db,
  )
}

async function insertJob(workflowID: string, controller: string, uid: string, jobID: string): Promise<void> {
  await sql`insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, started_at)
    values (${workflowID}, 'r', ${controller}, 'c', ${uid}, ${jobID}, 'ns', ${uid}, 'test', ${NOW})`.execute(db)
}

async function insertObject(kind: string, uid: string): Promise<void> {
  await sql`insert into object (cluster, kind, uid, namespace, name, resource_version, seq, projection, updated_at)
    values ('c', ${kind}, ${uid}, 'ns', ${uid}, 7, 3, ${UNFINISHED}, ${NOW})`.execute(db)
}

async function insertEvent(kind: string, version: number): Promise<void> {
  await sql`insert into watch_event (at, cluster, kind, uid, namespace, name, resource_version, type, source, projection, outcome)
    values (${NOW}, 'c', ${kind}, 'u', 'ns', 'n', ${version}, 'ADDED', 'watch', '{}', 'wake')`.execute(db)
}

function write(kind: string, uid: string) {
  const workflow_id = kind === 'Widget' ? 'widget/w' : RUN
  const key = { workflow_id, run_id: 'r', pass: 1, step: 's', object: `${kind}/ns/${uid}`, verb: 'patch' }
  return { ...key, field_manager: 'pawl' }
}
