// The reflector against a server that speaks the watch protocol badly, with a real PostgreSQL.

import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { beginActions, finishActions } from '../../activities/journal/actions.ts'
import { newestVersion } from '../../activities/journal/objects.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { notCaughtUp } from '../../worker/bridge/health.ts'
import { createReflector, type Reflector } from '../../worker/bridge/reflector.ts'
import { type BridgeSettings, DEFAULT_SETTINGS } from '../../worker/bridge/settings.ts'
import { routeToSelf, task, taskKind } from '../activities/journal/build-events.ts'
import { asAdmin } from '../activities/journal/test-database.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { type BadServer, startBadServer } from '../worker/bridge/bad-server.ts'

const test = useJournal(inject('servers').databaseUrl)
let server: BadServer
let stopping: AbortController
let runs: Promise<void>[]

beforeEach(async () => {
  server = await startBadServer()
  stopping = new AbortController()
  runs = []
})
afterEach(async () => {
  await stop()
  await server.close()
})

const QUICK: BridgeSettings = {
  ...DEFAULT_SETTINGS,
  leaseMs: 600,
  watchdogMs: 5000,
  backoffMs: { first: 5, longest: 50 },
  batchLimit: 3,
  pendingLimit: 5,
  pageLimit: 2,
}

function start(settings: Partial<BridgeSettings> = {}, owner = 'one', signal = stopping.signal): Reflector {
  const reflector = createReflector(taskKind, {
    cluster: 'c',
    kube: server.kube,
    db: test.db,
    journal: { route: routeToSelf, contentKey: undefined, now: () => new Date() },
    owner,
    settings: { ...QUICK, ...settings },
    log: pino({ level: 'silent' }),
    random: () => 0.5,
  })
  runs.push(reflector.run(signal))
  return reflector
}
async function stop(): Promise<void> {
  stopping.abort()
  await Promise.all(runs)
  runs = []
  stopping = new AbortController()
}

const journaled = async (): Promise<string[]> => {
  const rows = await test.db.selectFrom('watch_event').selectAll().orderBy('seq').execute()
  return rows.map(
    ({ source, type, uid, resource_version, outcome }) => `${source} ${type} ${uid} ${resource_version} ${outcome}`,
  )
}
const checkpoint = async () =>
  (await test.db.selectFrom('watch_checkpoint').selectAll().executeTakeFirst())?.resource_version
const eventually = async (check: () => Promise<void>): Promise<void> => {
  await vi.waitFor(check, { timeout: 30_000, interval: 10 })
}
const upTo = async (version: number): Promise<void> => {
  await eventually(async () => expect(await checkpoint()).toBe(version))
}
const event = (uid: string, version: number): KubeObject => task({ uid, version, generation: version })

describe('a reflector that starts for the first time', () => {
  it('journals a paged list as one epoch and watches from its version', async () => {
    server.objects = ['a', 'b', 'c', 'd', 'e'].map((uid, index) => event(uid, 90 + index))
    const reflector = start()
    const watch = await server.nextWatch()
    expect(server.requests).toEqual(['list', 'list', 'list', 'watch 100'])
    expect(watch.url.searchParams.get('allowWatchBookmarks')).toBe('true')
    expect(watch.url.searchParams.get('timeoutSeconds')).toBe('450')
    expect(await journaled()).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((uid, index) => `relist ADDED ${uid} ${90 + index} wake`),
    )
    expect(
      await test.db.selectFrom('watch_checkpoint').select(['resource_version', 'epoch', 'lease_owner']).execute(),
    ).toEqual([{ resource_version: 100, epoch: 1, lease_owner: 'one' }])
    await eventually(async () => expect(await Promise.resolve(notCaughtUp([reflector]))).toEqual({}))
  })

  it('says what it is doing until it is caught up', async () => {
    server.refusals.push({ sort: 'list', status: 500 }, { sort: 'list', status: 404 })
    const reflector = start()
    expect(notCaughtUp([reflector])).toEqual({ Task: 'starting' })
    await server.nextWatch()
    expect(server.requests).toEqual(['list', 'list', 'list', 'watch 100'])
  })
})

describe('a reflector that watches', () => {
  it('journals events and moves the checkpoint with them, and with bookmarks', async () => {
    start()
    const watch = await server.nextWatch()
    for (let version = 101; version <= 110; version++) watch.send('MODIFIED', event(`u${version % 3}`, version))
    await upTo(110)
    watch.bookmark(150)
    await upTo(150)
    expect(await journaled()).toHaveLength(10)
  })

  it.each([
    ['is cut', (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => watch.cut()],
    ['is ended by the server', (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => watch.end()],
    [
      'brings a line of garbage',
      (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => watch.raw('{"type":"MODIFIED","obj\n'),
    ],
    [
      'brings an event without a version',
      (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => watch.send('MODIFIED', { metadata: {} }),
    ],
    [
      'brings an unknown type',
      (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => watch.send('PANIC', event('a', 999)),
    ],
    [
      'brings a failure of the server',
      (watch: Awaited<ReturnType<BadServer['nextWatch']>>) =>
        watch.send('ERROR', { kind: 'Status', code: 500, reason: 'InternalError' }),
    ],
    [
      'is cut within an event',
      (watch: Awaited<ReturnType<BadServer['nextWatch']>>) => {
        watch.raw('{"type":"ADDED","object":{"meta')
        setTimeout(() => watch.cut(), 20)
      },
    ],
  ])('goes on after the last event when the connection %s', async (_case, harm) => {
    start()
    const watch = await server.nextWatch()
    watch.send('ADDED', event('a', 101))
    await upTo(101)
    harm(watch)
    const second = await server.nextWatch()
    expect(second.url.searchParams.get('resourceVersion')).toBe('101')
    second.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect(await journaled()).toEqual(['watch ADDED a 101 wake', 'watch MODIFIED a 102 wake'])
  })

  it.each([401, 403, 429, 500, 503])('asks again when it is refused with %d', async (status) => {
    server.refusals.push({ sort: 'watch', status }, { sort: 'watch', status })
    start()
    await server.nextWatch()
    expect(server.requests).toEqual(['list', 'watch 100', 'watch 100', 'watch 100'])
  })

  it('waits as long as Retry-After says', async () => {
    server.refusals.push({ sort: 'watch', status: 429, headers: { 'retry-after': '1' } })
    const from = Date.now()
    start()
    await server.nextWatch()
    expect(Date.now() - from).toBeGreaterThanOrEqual(1000)
  })

  it('reconnects when nothing comes for the time of the watchdog', async () => {
    start({ watchdogMs: 50 })
    await server.nextWatch()
    const second = await server.nextWatch()
    second.send('ADDED', event('a', 101))
    await upTo(101)
  })

  it('reads characters that are split between two chunks', async () => {
    start()
    const watch = await server.nextWatch()
    const line = Buffer.from(
      `${JSON.stringify({ type: 'ADDED', object: task({ uid: 'a', name: 'größe', version: 101 }) })}\n`,
    )
    const middle = line.indexOf('ö') + 1
    watch.raw(line.subarray(0, middle) as unknown as string)
    await new Promise((resolve) => setTimeout(resolve, 20))
    watch.raw(line.subarray(middle) as unknown as string)
    await upTo(101)
    expect(await test.db.selectFrom('object').select('name').execute()).toEqual([{ name: 'größe' }])
  })

  it('does not hammer a server that accepts and hangs up', async () => {
    start({ backoffMs: { first: 40, longest: 40 } })
    const until = Date.now() + 400
    while (Date.now() < until) (await server.nextWatch()).end()
    expect(server.requests.length).toBeLessThan(25)
  })
})

describe('a watch whose version is too old', () => {
  it.each([
    [
      'by status',
      (): void =>
        void server.refusals.push({
          sort: 'watch',
          status: 410,
          body: { kind: 'Status', code: 410, reason: 'Expired' },
        }),
    ],
    ['by an error event', undefined],
  ])('is answered %s, and a list shows what was missed', async (_case, refuse) => {
    start()
    const first = await server.nextWatch()
    for (const [index, uid] of ['a', 'b', 'c', 'd', 'e', 'f', 'g'].entries())
      first.send('ADDED', event(uid, 101 + index))
    await upTo(107)
    server.objects = [event('a', 101), event('b', 150), event('new', 160)]
    server.version = 200
    if (refuse === undefined) first.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })
    else {
      refuse()
      first.cut()
    }
    expect((await server.nextWatch()).url.searchParams.get('resourceVersion')).toBe('200')
    expect((await journaled()).slice(7).sort()).toEqual(
      [
        ...['c', 'd', 'e', 'f', 'g'].map((uid) => `relist DELETED ${uid} 200 wake`),
        'relist ADDED new 160 wake',
        'relist MODIFIED a 101 stale',
        'relist MODIFIED b 150 wake',
      ].sort(),
    )
    expect(await test.db.selectFrom('watch_checkpoint').select(['resource_version', 'epoch']).execute()).toEqual([
      { resource_version: 200, epoch: 2 },
    ])
  })
})

describe('a cluster that was made anew', () => {
  it('is listed although its versions are smaller than the known ones', async () => {
    start()
    const first = await server.nextWatch()
    first.send('ADDED', event('old', 5001))
    first.send('ADDED', event('kept', 5002))
    await upTo(5002)
    server.objects = [event('kept', 7), event('fresh', 8)]
    server.version = 9
    const tooLarge = {
      kind: 'Status',
      code: 504,
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
    }
    server.refusals.push({ sort: 'watch', status: 504, body: tooLarge })
    first.cut()
    await server.nextWatch()
    expect((await journaled()).slice(2)).toEqual([
      'relist MODIFIED kept 7 wake',
      'relist ADDED fresh 8 wake',
      'relist DELETED old 9 wake',
    ])
    expect(await newestVersion(test.db, 'c', 'Task', 'ns')).toBe(8)
  })
})

describe('a reflector that restarts', () => {
  it('resumes from the checkpoint without a list', async () => {
    start()
    const first = await server.nextWatch()
    first.send('ADDED', event('a', 101))
    await upTo(101)
    await stop()
    start({}, 'two')
    const second = await server.nextWatch()
    second.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect(server.requests).toEqual(['list', 'watch 100', 'watch 101'])
  })

  it('lists again when it stopped within a list', async () => {
    server.objects = ['a', 'b', 'c', 'd'].map((uid, index) => event(uid, 90 + index))
    await test.db
      .insertInto('watch_checkpoint')
      .values({ cluster: 'c', kind: 'Task', resource_version: null, epoch: 0 })
      .execute()
    start()
    await server.nextWatch()
    await stop()
    await test.db.updateTable('watch_checkpoint').set({ resource_version: null }).execute()
    start({}, 'two')
    await server.nextWatch()
    expect((await journaled()).slice(4).every((line) => line.endsWith('stale'))).toBe(true)
  })
})

describe('a reflector that is stopped again and again', () => {
  it('journals every event once, whatever the moments', async () => {
    const last = 300
    const served = (async () => {
      for (;;) {
        const watch = await server.nextWatch()
        const from = Number(watch.url.searchParams.get('resourceVersion'))
        for (let version = from + 1; version <= last; version++)
          watch.send('MODIFIED', event(`u${version % 7}`, version))
        if (from >= last) return
      }
    })()
    for (let round = 0; round < 12; round++) {
      start({}, `owner-${round}`)
      const enough = 100 + round * 15
      await eventually(async () => expect(await checkpoint()).toBeGreaterThanOrEqual(enough))
      await stop()
    }
    start({}, 'the last')
    await upTo(last)
    await stop()
    start({}, 'once more')
    await served
    const rows = (await journaled()).map((line) => line.split(' '))
    expect(rows.map(([, , , version]) => Number(version))).toEqual(
      Array.from({ length: last - 100 }, (_, index) => 101 + index),
    )
    expect(rows.every(([, , , , outcome]) => outcome === 'wake')).toBe(true)
  })
})

describe('two reflectors of one kind', () => {
  it('take turns: the other stands by until the first is gone', async () => {
    const firstOnly = new AbortController()
    start({}, 'one', firstOnly.signal)
    const watch = await server.nextWatch()
    const standby = start({}, 'two')
    await eventually(async () => expect(await Promise.resolve(notCaughtUp([standby]))).toEqual({}))
    watch.send('ADDED', event('a', 101))
    await upTo(101)
    expect(server.requests).toEqual(['list', 'watch 100'])
    firstOnly.abort()
    const second = await server.nextWatch()
    expect(second.url.searchParams.get('resourceVersion')).toBe('101')
  })

  it('never both journal: one whose lease was taken stops, and its events come through the other', async () => {
    const firstOnly = new AbortController()
    start({ leaseMs: 60_000 }, 'one', firstOnly.signal)
    const watch = await server.nextWatch()
    await test.db
      .updateTable('watch_checkpoint')
      .set({ lease_owner: 'two', lease_until: new Date(Date.now() + 60_000) })
      .execute()
    watch.send('ADDED', event('a', 101))
    start({}, 'two')
    const second = await server.nextWatch()
    second.send('ADDED', event('a', 101))
    await upTo(101)
    expect(await journaled()).toEqual(['watch ADDED a 101 wake'])
    firstOnly.abort()
  })
})

describe('a journal that is away for a while', () => {
  it('gets every event when it is back, in order, and the rest waits in the connection meanwhile', async () => {
    start()
    const watch = await server.nextWatch()
    watch.send('ADDED', event('a', 101))
    await upTo(101)
    const name = new URL(test.url).pathname.slice(1)
    const admin = inject('servers').databaseUrl
    await asAdmin(admin, `alter database ${name} allow_connections false`)
    await asAdmin(admin, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
    for (let version = 102; version <= 140; version++)
      watch.send('MODIFIED', event(version % 2 === 0 ? 'a' : 'b', version))
    await new Promise((resolve) => setTimeout(resolve, 300))
    await asAdmin(admin, `alter database ${name} allow_connections true`)
    await eventually(async () => expect(await checkpoint()).toBe(140))
    const versions = (await journaled()).map((line) => Number(line.split(' ')[3]))
    expect([...new Set(versions)]).toEqual(Array.from({ length: 40 }, (_, index) => 101 + index))
  })
})

describe('a journal that was emptied', () => {
  it('is filled by a list again, for what does not change too', async () => {
    server.objects = [event('idle', 90)]
    start({ leaseMs: 150 })
    await server.nextWatch()
    await upTo(100)
    await test.db.deleteFrom('object').execute()
    await test.db.deleteFrom('watch_event').execute()
    await test.db.deleteFrom('watch_checkpoint').execute()
    await eventually(async () => expect(await journaled()).toEqual(['relist ADDED idle 90 wake']))
  })
})

describe('a watch event on an object that a run is writing', () => {
  const action = { workflow_id: 'task/a/j', run_id: 'r', pass: 1, step: 's', object: 'Task/ns/task-a', verb: 'patch' }

  it('is held until the answer is journaled, while other objects pass and the checkpoint waits', async () => {
    start({ holdMs: 60_000 })
    const watch = await server.nextWatch()
    await beginActions(test.db, [{ ...action, field_manager: 'pawl', started_at: new Date() }])
    watch.send('ADDED', event('b', 101))
    watch.send('ADDED', event('a', 102))
    watch.send('MODIFIED', event('b', 103))
    watch.send('MODIFIED', event('a', 104))
    await eventually(async () =>
      expect(await journaled()).toEqual(['watch ADDED b 101 wake', 'watch MODIFIED b 103 wake']),
    )
    expect(await checkpoint()).toBe(101)
    await finishActions(test.db, [{ ...action, resource_version: 104, error: null, finished_at: new Date() }])
    await upTo(104)
    expect((await journaled()).slice(2)).toEqual(['watch ADDED a 102 wake', 'watch MODIFIED a 104 wake'])
  })

  it('is held no longer than the hold lasts', async () => {
    start({ holdMs: 150 })
    const watch = await server.nextWatch()
    await beginActions(test.db, [{ ...action, field_manager: 'pawl', started_at: new Date() }])
    watch.send('ADDED', event('a', 101))
    await upTo(101)
  })
})
