// Tests `pawl get`, `trace`, `diff`, `graph`, `why` and `history` on a real journal, and that their queries use
// indexes.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { beforeAll, afterAll, describe, expect, inject, it } from 'vitest'
import type { Database } from '../../activities/journal/database.ts'
import { openReader } from '../../activities/journal/read/reader.ts'
import {
  awaitedByAll,
  eventsOf,
  lastEventsIn,
  runOf,
  wakeOf,
  writesOf,
} from '../../activities/journal/read/event-queries.ts'
import {
  childrenOf,
  followedKinds,
  jobsOf,
  listNames,
  listObjects,
  newestJobs,
  objectOf,
  objectsNamed,
} from '../../activities/journal/read/object-queries.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { waitingOf } from '../../activities/journal/read/wake-queue.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const GROUP = 'landscaper.gardener.cloud'
const BEGIN = Date.parse('2026-02-03T04:05:06Z')
const at = (ms: number) => new Date(BEGIN + ms)
const RUN = 'installation/team-a/shop/i1/j1'
const FORMER_RUN = 'installation/team-a/shop/i1/j0'

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
  await fill(test.db)
})
afterAll(async () => {
  await test.drop()
})

describe('a command that reads the journal', () => {
  it('lists the objects of a namespace and the reasons why they wait', async () => {
    const { stdout, code } = await pawl('get', '-n', 'team-a')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^NAME +PHASE +JOB +DURATION +WAITING-FOR\n/)
    expect(stdout).toMatch(/\ninstallation\/shop +Failed +j1 +5\.0s +no such image\n/)
    expect(stdout).not.toContain('team-b')
    expect((await pawl('get', 'inst', '-A', '-o', 'name')).stdout).toBe(
      `installation.${GROUP}/shop\ninstallation.${GROUP}/other\n`,
    )
  })

  it('shows a job with the jobs that its run hosts, and exits with the code of the outcome', async () => {
    const { stdout } = await pawl('trace', 'inst/shop', '-n', 'team-a')
    expect(stdout).toMatch(/^Installation team-a\/shop +Failed +5\.0s/m)
    expect(stdout).toMatch(/^└─ Execution team-a\/shop +Failed/m)
    expect(stdout).toMatch(/^ {3}└─ DeployItem team-a\/shop-db +Failed.*no such image$/m)
    const followed = await pawl('trace', 'inst', 'shop', '-w', '-n', 'team-a')
    expect(followed.code).toBe(3)
    expect(followed.stdout).toMatch(/DeployItem team-a\/shop-db {2}Failed {2}no such image\n/)
  })

  it('shows an earlier job of an object', async () => {
    const { stdout } = await pawl('trace', 'inst/shop', '--job', 'j0', '-n', 'team-a')
    expect(stdout).toMatch(/^Installation team-a\/shop +Succeeded +2\.0s/m)
    expect(stdout).toMatch(/^└─ Execution team-a\/shop +unknown/m)
    expect(stdout).toMatch(/^ {3}└─ DeployItem team-a\/shop-db +Succeeded/m)
  })

  it('shows the differences between two jobs', async () => {
    const { stdout } = await pawl('diff', 'inst/shop', '-n', 'team-a')
    expect(stdout).toMatch(/^Installation team-a\/shop +j0 +j1\n/)
    expect(stdout).toMatch(/\nended +Succeeded after 2\.0s +Failed after 5\.0s\n/)
    expect(stdout).toContain('metadata.annotations."landscaper.gardener.cloud/operation": reconcile')
    expect(stdout).toMatch(/\nDeployItem team-a\/shop-db +Succeeded +Failed .*no such image\n/)
    expect((await pawl('diff', 'inst/shop', 'j0', 'j0', '-n', 'team-a')).stderr).toContain('expected two jobs')
  })

  it('shows the children of an object as text and as a DOT graph', async () => {
    const { stdout } = await pawl('graph', 'inst/shop', '-n', 'team-a')
    expect(stdout).toMatch(/^Installation team-a\/shop +Failed\n└─ Execution team-a\/shop +Failed\n {3}└─ DeployItem /)
    expect((await pawl('graph', 'inst/shop', '-n', 'team-a', '-o', 'dot')).stdout).toMatch(/^digraph \{\n/)
  })

  it('shows items without a job, and the dependency cycle in which they wait', async () => {
    const { stdout } = await pawl('graph', 'exec/ring', '-n', 'team-c')
    expect(stdout).toContain('cycle: a -> b -> a\n')
    expect((await pawl('trace', 'exec/ring', '-n', 'team-c')).stdout).toMatch(/^└─ DeployItem team-c\/ring-b +-/m)
  })

  it('shows the chain of causes from the edit by a user to the failed item', async () => {
    const { stdout } = await pawl('why', 'di/shop-db', '-n', 'team-a')
    const places = [
      "somebody beside Pawl's runs changed Installation team-a/shop (version 2)",
      'operation": reconcile',
      'job j1 of Installation team-a/shop began (operation reconcile',
      'the run of installation team-a/shop, in pass 2, step run items, changed DeployItem team-a/shop-db',
      `job j1 of DeployItem team-a/shop-db began (hosted by run ${RUN})`,
      'it ended Failed after 3.0s: no such image',
    ].map((text) => stdout.indexOf(text))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((left, right) => left - right))
    expect((await pawl('why', 'inst/shop', '-n', 'team-a')).stdout).toContain(
      'Execution team-a/shop (Failed) failed with DeployItem team-a/shop-db (Failed).\n  DeployItem team-a/shop-db is Failed: no such image.\n',
    )
  })

  it('shows previous versions of an object', async () => {
    const { stdout } = await pawl('history', 'inst/shop', '-n', 'team-a')
    expect(stdout).toContain('version 2  MODIFIED, seen by watch')
    expect(stdout).toContain('status.phase: Init -> Failed')
    const then = await pawl('history', 'inst/shop', '-n', 'team-a', '--at', at(1500).toISOString(), '-o', 'json')
    expect(JSON.parse(then.stdout)).toMatchObject({ resourceVersion: 3, kept: { status: { phase: 'Init' } } })
  })

  it('shows an object that waits for its turn, and how many objects of its namespace come before it', async () => {
    expect((await pawl('get', 'inst', '-n', 'team-b')).stdout).toMatch(/\nother +Failed +- +- +its turn, 1 before it; /)
    expect((await pawl('why', 'inst/other', '-n', 'team-b')).stdout).toContain(
      `Now:\n  Installation team-b/other waits for its turn since ${at(1).toISOString()}: 1 of its namespace comes before it`,
    )
  })

  it('completes the names of objects in the shell', async () => {
    const words = ['--cluster', 'local', '-n', 'team-a', '--database-url', test.url]
    expect((await run('__complete', '--', 'why', ...words, 'inst/s')).stdout).toBe('inst/shop\n')
    expect((await run('__complete', '--', 'trace', ...words, 'di', '')).stdout).toBe('shop-db\n')
  })

  it('fails when only another namespace has an object of the name, and when the object has no such job', async () => {
    const { code, stderr } = await pawl('why', 'inst/other', '-n', 'team-a')
    expect({ code, stderr }).toMatchObject({ code: 1 })
    expect(stderr).toContain('the journal has no Installation team-a/other in cluster local')
    expect(await pawl('trace', 'inst/shop', '--job', 'j9', '-n', 'team-a')).toMatchObject({
      code: 1,
      stderr: "pawl: Installation team-a/shop has no job 'j9' in the journal, expected one of j1, j0\n",
    })
  })
})

describe('a reader of the journal', () => {
  it.each(['a URL', 'no URL'])('cannot write, even with a type cast, when the address is %s', async (form) => {
    const { username, password, hostname, port, pathname } = new URL(test.url)
    const noURL = `postgres://${username}:${password}@${pathname}?host=${hostname}&port=${port}`
    expect(URL.parse(noURL)).toBeNull()
    const reader = openReader(form === 'a URL' ? test.url : noURL)
    const writing = reader as unknown as Kysely<Database>
    await expect(writing.deleteFrom('wake').execute()).rejects.toThrow(/read-only transaction/)
    await reader.destroy()
  })

  it('scans no table sequentially', async () => {
    const asked: { readonly sql: string; readonly parameters: readonly unknown[] }[] = []
    const pool = new pg.Pool({ connectionString: test.url, max: 1 })
    const db = new Kysely<Database>({
      dialect: new PostgresDialect({ pool }),
      log: ({ query }) => void asked.push({ sql: query.sql, parameters: query.parameters }),
    })
    const one = { group: GROUP, kind: 'Installation' }
    const owner = { ...one, uid: 'i1', namespace: 'team-a', name: 'shop' }
    const reader = { db: db as never, cluster: 'local' }
    await listObjects(reader, one, 'team-a')
    await listObjects(reader, one, undefined)
    await listNames(reader, one, undefined)
    await objectsNamed(reader, { ...one, namespace: 'team-a', name: 'shop' })
    await objectOf(reader, 'i1')
    await childrenOf(reader, [owner], at(0))
    await newestJobs(reader, ['i1', 'e1'], { from: at(0), to: at(9000) })
    await jobsOf(reader, 'i1')
    await eventsOf(reader, 'i1')
    await runOf(reader, RUN)
    await writesOf(reader, RUN)
    await lastEventsIn(reader, ['i1', 'e1'], { jobID: 'j1', since: at(0) })
    await awaitedByAll(reader, ['installation'], ['i1'])
    await wakeOf(reader, 'installation', 'i1')
    await waitingOf(reader, ['installation'], ['i1'])
    const statements = [...asked]
    expect(statements.length).toBe(15)
    const client = await pool.connect()
    await client.query('set enable_seqscan = off')
    const found: string[] = []
    const whole = await client.query<{ 'QUERY PLAN': string }>("explain select from watch_event where kind = 'Pod'")
    expect(unbounded(whole.rows.map((row) => row['QUERY PLAN']))).not.toEqual([])
    for (const { sql: text, parameters } of statements) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [...parameters])
      found.push(...unbounded(rows.map((row) => row['QUERY PLAN'])).map((line) => `${line} of ${text}`))
    }
    client.release()
    await db.destroy()
    expect(found).toEqual([])
    // Its table has one row per kind, so this query needs no index.
    const kinds = openReader(test.url)
    expect(await followedKinds({ db: kinds, cluster: 'local' })).toEqual([])
    await kinds.destroy()
  })
})

/** The lines of a query plan that scan a table or an index without an index condition. */
function unbounded(plan: readonly string[]): readonly string[] {
  return plan.filter((line, index) => {
    if (line.includes('Seq Scan')) return true
    return /Index (?:Only )?Scan/.test(line) && !(plan[index + 1] ?? '').includes('Index Cond')
  })
}

async function pawl(...words: readonly string[]) {
  return await run(...words, '--database-url', test.url)
}

async function run(...words: readonly string[]) {
  const args = [PAWL, ...words]
  return await new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
    const env = { ...process.env, KUBECONFIG: '/nonexistent' }
    execFile(process.execPath, args, { env }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    )
  })
}

const owned = (kind: string, name: string, uid: string) => ({
  ownerReferences: [{ apiVersion: `${GROUP}/v1alpha1`, kind, name, uid, controller: true }],
})

interface Metadata {
  readonly namespace?: string
  readonly ownerReferences?: readonly object[]
}

const objectRow = (kind: string, uid: string, name: string, { namespace = 'team-a', ...metadata }: Metadata = {}) => ({
  cluster: 'local',
  api_group: GROUP,
  kind,
  uid,
  namespace,
  name,
  resource_version: 9,
  seq: 9,
  owner_uid: null,
  hash: null,
  deleted: false,
  presumed_deleted: false,
  updated_at: at(5000),
  projection: JSON.stringify({
    metadata: { name, namespace, ...metadata },
    status: { phase: 'Failed', jobID: 'j1', jobIDFinished: 'j1' },
  }),
})

/** An Execution with two items that depend on each other, so no deployer has started them. */
function ring() {
  const item = (name: string, other: string) => ({
    ...objectRow('DeployItem', `ring-${name}`, `ring-${name}`),
    namespace: 'team-c',
    owner_uid: 'e3',
    projection: JSON.stringify({
      metadata: {
        name: `ring-${name}`,
        namespace: 'team-c',
        ...owned('Execution', 'ring', 'e3'),
        labels: { 'execution.landscaper.gardener.cloud/name': name },
        annotations: { 'execution.landscaper.gardener.cloud/dependsOn': other },
      },
    }),
  })
  return [objectRow('Execution', 'e3', 'ring', { namespace: 'team-c' }), item('a', 'b'), item('b', 'a')]
}

async function fill(db: Kysely<Database>): Promise<void> {
  const objects = [
    objectRow('Installation', 'i1', 'shop'),
    objectRow('Installation', 'i2', 'other', { namespace: 'team-b' }),
    { ...objectRow('Execution', 'e1', 'shop', owned('Installation', 'shop', 'i1')), owner_uid: 'i1' },
    { ...objectRow('DeployItem', 'd1', 'shop-db', owned('Execution', 'shop', 'e1')), owner_uid: 'e1' },
    // Users can write any owner reference. An item in another namespace is no child of the Execution.
    {
      ...objectRow('DeployItem', 'd2', 'strange', { ...owned('Execution', 'shop', 'e1'), namespace: 'team-b' }),
      owner_uid: 'e1',
    },
  ]
  await db
    .insertInto('object')
    .values([...objects, ...ring()])
    .execute()
  const error = JSON.stringify({ message: 'no such image' })
  const phases = JSON.stringify([
    { phase: 'Init', at: at(1000).toISOString() },
    { phase: 'Failed', at: at(5000).toISOString() },
  ])
  const ended = { phase: 'Failed', phases, outcome: 'Failed', last_error: error, finished_at: at(6000) }
  const run = { workflow_id: RUN, cluster: 'local', job_id: 'j1', namespace: 'team-a' }
  const job = {
    ...run,
    ...ended,
    run_id: 'r1',
    controller: 'installation',
    uid: 'i1',
    name: 'shop',
    cause: 'operation reconcile',
    attempt: 0,
    passes: 4,
    lookups: 0,
    started_at: at(1000),
  }
  const before = {
    ...job,
    workflow_id: FORMER_RUN,
    job_id: 'j0',
    phase: 'Succeeded',
    outcome: 'Succeeded',
    last_error: null,
    phases: '[]',
    started_at: at(-9000),
    finished_at: at(-7000),
  }
  // Another cluster may have objects with the same UIDs.
  const elsewhere = { ...job, workflow_id: 'elsewhere', cluster: 'copy', job_id: 'j7', started_at: at(7000) }
  await db.insertInto('job').values([job, before, elsewhere]).execute()
  await db
    .insertInto('hosted_job')
    .values([
      { ...run, ...ended, controller: 'execution', uid: 'e1', name: 'shop', started_at: at(2000) },
      { ...run, ...ended, controller: 'deploy-item', uid: 'd1', name: 'shop-db', started_at: at(3000) },
    ])
    .execute()
  const wake = (uid: string, ms: number, namespace = 'team-b') => ({
    controller: 'installation',
    uid,
    job_id: '',
    cluster: 'local',
    namespace,
    name: uid,
    seq: 1,
    due: at(ms),
    foreign_event: true,
    may_start: true,
    writer: null,
    cause: 'test',
  })
  await upsertWakes(db, [wake('i9', 0), wake('i2', 1), wake('i8', 0, 'team-c')], at(0))
  await events(db)
}

async function events(db: Kysely<Database>): Promise<void> {
  const event = (ms: number, version: number, of: { kind: string; uid: string; name: string }, projection: object) => ({
    at: at(ms),
    cluster: 'local',
    api_group: GROUP,
    namespace: 'team-a',
    resource_version: version,
    ...of,
    type: 'MODIFIED' as const,
    source: 'watch' as const,
    writer: null,
    outcome: 'wake' as const,
    reason: null,
    projection: JSON.stringify(projection),
  })
  const shop = { kind: 'Installation', uid: 'i1', name: 'shop' }
  const item = { kind: 'DeployItem', uid: 'd1', name: 'shop-db' }
  const metadata = { annotations: { [`${GROUP}/operation`]: 'reconcile' } }
  const own = { source: 'write' as const, writer: RUN }
  await db
    .insertInto('watch_event')
    .values([
      {
        ...event(-7500, 1, item, { status: { phase: 'Succeeded', jobID: 'j0', jobIDFinished: 'j0' } }),
        writer: FORMER_RUN,
      },
      { ...event(0, 1, shop, { metadata: {}, spec: {} }), type: 'ADDED' },
      event(900, 2, shop, { metadata }),
      { ...event(1100, 3, shop, { status: { phase: 'Init', jobID: 'j1' } }), ...own },
      { ...event(2900, 5, item, { status: { jobID: 'j1' } }), ...own },
      { ...event(5900, 9, shop, { status: { phase: 'Failed', jobID: 'j1', jobIDFinished: 'j1' } }), ...own },
    ])
    .execute()
  const object = `DeployItem.${GROUP}/team-a/shop-db`
  await sql`insert into action (workflow_id, run_id, pass, step, object, verb, field_manager, resource_version, started_at, finished_at)
            values (${RUN}, 'r1', 2, 'run items', ${object}, 'patch', 'pawl', 5, ${at(2800)}, ${at(2900)})`.execute(db)
}
