// An event that PostgreSQL rejects must not stop the journal of its kind.

import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import type { KubeObject } from '../../activities/kube/client.ts'
import { createReflector } from '../../worker/bridge/reflector.ts'
import { DEFAULT_REFLECTOR_SETTINGS } from '../../worker/bridge/settings.ts'
import { routeToSelf, rules, task, taskKind } from '../activities/journal/build-events.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'
import { type BadServer, startBadServer } from '../worker/bridge/bad-server.ts'

let test: TestDatabase
let server: BadServer
const stopping = new AbortController()
let running: Promise<void> | undefined

beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
  server = await startBadServer()
})
afterAll(async () => {
  stopping.abort()
  await running
  await server.close()
  await test.drop()
})

const event = (uid: string, version: number): KubeObject => task({ uid, version, generation: version })
/** An object with a name that is too long for PostgreSQL's indexes. */
const unjournalable = (uid: string, version: number): KubeObject =>
  task({ uid, version, name: randomBytes(20_000).toString('hex') })

describe('an event that PostgreSQL rejects', () => {
  it('is skipped; other events of its batch and later events are journaled', async () => {
    server.objects = [event('a', 90), unjournalable('b', 91), event('c', 92)]
    const lines: string[] = []
    const reflector = createReflector(taskKind, {
      cluster: 'c',
      kube: server.kube,
      db: test.db,
      owner: 'one',
      random: () => 0.5,
      journal: { route: routeToSelf, ...rules, contentKey: undefined, now: () => new Date() },
      settings: DEFAULT_REFLECTOR_SETTINGS,
      log: pino({ level: 'error' }, { write: (line) => lines.push(line) }),
    })
    running = reflector.run(stopping.signal)
    const watch = await server.nextWatch()
    for (const object of [event('a', 101), unjournalable('d', 102), event('c', 103)]) watch.send('MODIFIED', object)
    const rows = test.db.selectFrom('watch_event').selectAll().orderBy('seq')
    await vi.waitFor(async () => expect(await rows.execute()).toHaveLength(6), { timeout: 30_000, interval: 20 })
    expect(
      (await rows.execute()).map(({ uid, resource_version, outcome }) => `${uid} ${resource_version} ${outcome}`),
    ).toEqual(['a 90 wake', 'b 91 ignored', 'c 92 wake', 'a 101 wake', 'd 102 ignored', 'c 103 wake'])
    expect((await rows.execute())[4]).toMatchObject({ reason: 'could not be journaled', projection: {} })
    expect(lines.filter((line) => line.includes('event could not be journaled'))).toHaveLength(2)
  })
})
