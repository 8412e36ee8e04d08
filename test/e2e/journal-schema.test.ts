// The check of the journal's schema version, against a real PostgreSQL and with real processes.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { migrateUp, readSchema } from '../../activities/journal/migrate.ts'
import { childEnvironment, processArgs } from '../../worker/server/config.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { freePort } from '../support/servers/free-port.ts'

const servers = inject('servers')
let test: TestDatabase
const children: ChildProcess[] = []
// On a busy machine a process takes many seconds to start.
const STARTING = { timeout: 90_000 }
beforeEach(async () => {
  test = await createTestDatabase(servers.databaseUrl, { migrated: false })
})
afterEach(async () => {
  for (const child of children.splice(0)) if (child.kill('SIGKILL')) await once(child, 'exit')
  await test.drop()
})

/** As if a newer build had migrated the journal. */
async function migrateFurther(needs: string): Promise<void> {
  await sql`insert into kysely_migration (name, timestamp) values ('9999_from_the_future', 'later')`.execute(test.db)
  await sql`update journal_schema set needs = ${needs}`.execute(test.db)
}

async function start(part: 'bridge' | 'worker') {
  const flags = ['--kubeconfig', servers.kubeconfigPath, '--database-url', test.url]
  const port = await freePort()
  const own =
    part === 'bridge'
      ? ['--namespace', 'journal-schema']
      : [
          ...['--temporal-address', servers.temporalAddress, '--task-queue', new URL(test.url).pathname.slice(1)],
          ...['--workflow-bundle', servers.workflowBundle],
        ]
  const file = part === 'bridge' ? 'bridge.ts' : 'reconciler.ts'
  const args = processArgs(file, [...flags, ...own, '--health-port', String(port)])
  const child = spawn(process.execPath, args, { env: childEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += text.toString()))
  const ready = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    return answer && { status: answer.status, text: await answer.text() }
  }
  return { child, ready, log: () => log }
}

describe('the check of the journal schema', () => {
  it('reports missing migrations before the migration, and none after it', async () => {
    expect((await readSchema(test.db)).missing[0]).toBe('0001_create_journal')
    await migrateUp(test.url)
    expect(await readSchema(test.db)).toEqual({ missing: [], newer: [] })
  })

  it('passes when a newer build has migrated the journal and this build may still use it; the newer migrations stay', async () => {
    await migrateUp(test.url)
    await migrateFurther('0009_say_who_may_work')
    expect(await readSchema(test.db)).toEqual({ missing: [], newer: ['9999_from_the_future'] })
    expect(await migrateUp(test.url)).toEqual([])
  })

  it('fails when a newer build has migrated the journal and requires its new migration', async () => {
    const newest = (await migrateUp(test.url)).at(-1) ?? ''
    await migrateFurther('9999_from_the_future')
    const refusal = `requires migration 9999_from_the_future; this Pawl knows the migrations up to ${newest}`
    await expect(readSchema(test.db)).rejects.toThrow(refusal)
    await expect(migrateUp(test.url)).rejects.toThrow(refusal)
  })
})

describe.each(['bridge', 'worker'] as const)('a %s', { timeout: 200_000 }, (part) => {
  it('is not ready before the journal is migrated, and its readiness probe reports the reason', async () => {
    const process = await start(part)
    await expect.poll(process.ready, STARTING).toEqual({
      status: 503,
      text: expect.stringMatching(
        /journal: migrations 0001_create_journal, .* are missing; run pawl migrate up"/,
      ) as unknown,
    })
    expect(process.log()).toContain('0001_create_journal')
    await migrateUp(test.url)
    await expect.poll(process.ready, STARTING).toMatchObject({ status: 200 })
  })

  it('exits with code 1 when the journal requires a newer build', async () => {
    await migrateUp(test.url)
    await migrateFurther('9999_from_the_future')
    const { child, log } = await start(part)
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(1)
    expect(log()).toContain('upgrade this process')
  })
})
