// Tests commands that read the database of the journal, and that their queries use indexes. api.test.ts runs each command
// over pawl api, and e2e/ask-cluster.test.ts most of them on real jobs.

import { Kysely, PostgresDialect } from 'kysely'
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
import { waitingOf } from '../../activities/journal/read/wake-queue.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { runCommandWith } from '../support/pawl/run-command.ts'
import { at, fillJournal, GROUP, RUN, TEAM_A, TEAM_B, TEAM_C } from './ask-stage.ts'

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
  await fillJournal(test.db)
})
afterAll(async () => {
  await test.drop()
})

describe('a command that reads the database of the journal', () => {
  it('lists the objects of all namespaces', async () => {
    expect((await pawl('get', 'inst', '-A', '-o', 'name')).stdout).toBe(
      `installation.${GROUP}/shop\ninstallation.${GROUP}/other\n`,
    )
  })

  it('shows items without a job, and the dependency cycle in which they wait', async () => {
    expect((await pawl('graph', 'exec/ring', '-n', TEAM_C)).stdout).toMatch(/^cycle: a -> b -> a\n/)
    expect((await pawl('trace', 'exec/ring', '-n', TEAM_C)).stdout).toMatch(/^└─ DeployItem ask-team-c\/ring-b +-/m)
  })

  it('shows an object that waits for its turn, and how many objects of its namespace come before it', async () => {
    expect((await pawl('get', 'inst', '-n', TEAM_B)).stdout).toMatch(/\nother +Failed +- +its turn, 1 before it; /)
    expect((await pawl('why', 'inst/other', '-n', TEAM_B)).stdout).toMatch(
      /^Installation ask-team-b\/other waits for its turn since 2026-02-03 \S+: 1 of its namespace comes before it/,
    )
  })

  it.each([
    [
      ['why', 'inst/other'],
      1,
      'installation "ask-team-a/other" is not in the journal of cluster "local"; installation "other" exists in namespace "ask-team-b": add -n ask-team-b',
    ],
    [
      ['trace', 'inst/shop', '--job', 'j9'],
      1,
      'pawl: installation "ask-team-a/shop": job "j9" is not in the journal; the newest jobs are j1, j0\n',
    ],
    [['diff', 'inst/shop', 'j0', 'j0'], 2, 'give two different jobs'],
  ])('fails for an unknown object or job: %j', async (words, code, message) => {
    const answer = await pawl(...words, '-n', TEAM_A)
    expect(answer.stderr).toContain(message)
    expect(answer.code).toBe(code)
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
    const owner = { ...one, uid: 'i1', namespace: TEAM_A, name: 'shop' }
    const reader = { db: db as never, cluster: 'local' }
    await listObjects(reader, one, TEAM_A)
    await listObjects(reader, one, undefined)
    await listNames(reader, one, undefined)
    await objectsNamed(reader, { ...one, namespace: TEAM_A, name: 'shop' })
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
  return await runCommandWith({ KUBECONFIG: '/nonexistent' }, ...words, '--database-url', test.url)
}
