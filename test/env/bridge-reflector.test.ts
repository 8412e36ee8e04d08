// List and watch of a reflector on a server that implements the protocol badly, with a real PostgreSQL.

import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { newestVersion } from '../../activities/journal/read/subjects.ts'
import { reflectorReadiness } from '../../worker/bridge/reflector.ts'
import { path, valueAt } from '../../workflows/kit/index.ts'
import { TASK, task } from '../activities/journal/build-events.ts'
import type { Connection } from '../worker/bridge/bad-server.ts'
import { event, useReflectorStage } from './reflector-stage.ts'

const stage = useReflectorStage(inject('servers').databaseUrl)
const { start, journaled, upTo, watchWith } = stage

describe('a reflector that starts for the first time', () => {
  it('journals a paged list as one epoch and watches from its version', async () => {
    stage.server.objects = ['a', 'b', 'c', 'd', 'e'].map((uid, index) => event(uid, 90 + index))
    const { failures } = reflectorReadiness([start()])
    const watch = await stage.server.nextWatch()
    expect(stage.server.requests).toEqual(['list', 'list', 'list', 'watch 100'])
    expect(watch.url.searchParams.get('allowWatchBookmarks')).toBe('true')
    expect(watch.url.searchParams.get('timeoutSeconds')).toBe('450')
    expect(await journaled()).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((uid, index) => `relist ADDED ${uid} ${90 + index} wake`),
    )
    expect(
      await stage.db.selectFrom('watch_checkpoint').select(['resource_version', 'epoch', 'lease_owner']).execute(),
    ).toEqual([{ resource_version: 100, epoch: 1, lease_owner: 'one' }])
    await expect.poll(failures).toEqual({})
  })

  it('continues with smaller pages when the server rejects a page as too large', async () => {
    stage.server.objects = [1, 2, 3].map((version) => event(`u${version}`, version))
    stage.server.refusals.push({ sort: 'list', status: 413 }, { sort: 'list', status: 504 })
    start({ pageLimit: 4 })
    await stage.server.nextWatch()
    // Pages of four, of two, and three pages of one, without a back-off delay.
    expect(stage.server.requests).toEqual(['list', 'list', 'list', 'list', 'list', 'watch 100'])
    expect(await journaled()).toEqual([1, 2, 3].map((version) => `relist ADDED u${version} ${version} wake`))
  })

  it('reports its activity until it is caught up', async () => {
    stage.server.refusals.push({ sort: 'list', status: 500 }, { sort: 'list', status: 404 })
    const { field, failures } = reflectorReadiness([start()])
    expect([field, failures()]).toEqual(['behind', { 'Task.test.pawl.dev': 'starting' }])
    await stage.server.nextWatch()
    expect(stage.server.requests).toEqual(['list', 'list', 'list', 'watch 100'])
  })
})

describe('a reflector that watches', () => {
  it('journals events and moves the checkpoint with them, and with bookmarks', async () => {
    start()
    const watch = await stage.server.nextWatch()
    for (let version = 101; version <= 110; version++) watch.send('MODIFIED', event(`u${version % 3}`, version))
    await upTo(110)
    watch.bookmark(150)
    await upTo(150)
    expect(await journaled()).toHaveLength(10)
  })

  it.each<[string, (watch: Connection) => void]>([
    ['is cut', (watch) => watch.cut()],
    ['is ended by the server', (watch) => watch.end()],
    ['brings a line of garbage', (watch) => watch.raw('{"type":"MODIFIED","obj\n')],
    ['brings an event without a version', (watch) => watch.send('MODIFIED', { metadata: {} })],
    ['brings an unknown type', (watch) => watch.send('PANIC', event('a', 999))],
    ['brings a failure of the server', (watch) => watch.send('ERROR', { kind: 'Status', code: 500 })],
    [
      'is cut within an event',
      (watch) => {
        watch.raw('{"type":"ADDED","object":{"meta')
        setTimeout(() => watch.cut(), 20)
      },
    ],
  ])('resumes after the last event when the connection %s', async (_case, harm) => {
    start()
    const watch = await watchWith('a')
    harm(watch)
    const second = await stage.server.nextWatch()
    expect(second.url.searchParams.get('resourceVersion')).toBe('101')
    second.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect(await journaled()).toEqual(['watch ADDED a 101 wake', 'watch MODIFIED a 102 wake'])
  })

  it.each([401, 403, 429, 500, 503])('T10: retries after HTTP %d', async (status) => {
    stage.server.refusals.push({ sort: 'watch', status }, { sort: 'watch', status })
    start()
    await stage.server.nextWatch()
    expect(stage.server.requests).toEqual(['list', 'watch 100', 'watch 100', 'watch 100'])
  })

  it('T10: waits for the time in Retry-After', async () => {
    stage.server.refusals.push({ sort: 'watch', status: 429, headers: { 'retry-after': '1' } })
    const from = Date.now()
    start()
    await stage.server.nextWatch()
    expect(Date.now() - from).toBeGreaterThanOrEqual(1000)
  })

  it('reconnects when no byte arrives for the watchdog time', async () => {
    // Long enough that the second connection is also served before it ends.
    start({ watchdogMs: 1000 })
    await stage.server.nextWatch()
    const second = await stage.server.nextWatch()
    second.send('ADDED', event('a', 101))
    await upTo(101)
  })

  it('decodes characters that are split between two chunks', async () => {
    start()
    const watch = await stage.server.nextWatch()
    const line = Buffer.from(
      `${JSON.stringify({ type: 'ADDED', object: task({ uid: 'a', name: 'größe', version: 101 }) })}\n`,
    )
    const middle = line.indexOf('ö') + 1
    watch.raw(line.subarray(0, middle) as unknown as string)
    await new Promise((resolve) => setTimeout(resolve, 20))
    watch.raw(line.subarray(middle) as unknown as string)
    await upTo(101)
    expect(await stage.db.selectFrom('object').select('name').execute()).toEqual([{ name: 'größe' }])
  })

  it('backs off from a server that accepts and closes connections', async () => {
    start({ backoffMs: { first: 40, longest: 40 } })
    const until = Date.now() + 400
    while (Date.now() < until) (await stage.server.nextWatch()).end()
    expect(stage.server.requests.length).toBeLessThan(25)
  })
})

describe('a watch that misses events', () => {
  it('S4: is repaired by the next periodic list, which adds no known version', async () => {
    start({ relistMs: 600, watchSeconds: [300, 600] })
    const first = await watchWith('a', 'b', 'c')
    expect(first.url.searchParams.get('timeoutSeconds')).toBe('1')
    // No event reports that b has changed, c was deleted, and d was created.
    stage.server.objects = [event('a', 101), event('b', 104), event('d', 106)]
    stage.server.version = 107
    first.bookmark(107)
    for (let watch = first; stage.server.requests.filter((one) => one === 'list').length < 2;)
      watch = await ended(watch)
    await upTo(107)
    expect((await journaled()).slice(3)).toEqual([
      'relist MODIFIED b 104 wake',
      'relist ADDED d 106 wake',
      'relist DELETED c 107 wake',
    ])
  })

  it('is repaired once by a list for fields that the previous release did not store', async () => {
    start({ relistMs: 400, watchSeconds: [300, 600] })
    let watch = await watchWith('a', 'b', 'c')
    await sql`update object set projection = projection #- '{metadata,generation}' where uid in ('a', 'c')`.execute(
      stage.db,
    )
    stage.server.objects = [event('a', 101), event('b', 102), event('c', 104)]
    stage.server.version = 107
    watch.bookmark(107)
    while (stage.server.requests.filter((one) => one === 'list').length < 3) watch = await ended(watch)
    await upTo(107)
    expect((await journaled()).slice(3)).toEqual(['relist MODIFIED a 101 wake', 'relist MODIFIED c 104 wake'])
    const kept = await stage.db.selectFrom('object').select(['uid', 'projection']).orderBy('uid').execute()
    expect(kept.map(({ projection }) => valueAt(projection as object, path('metadata.generation')))).toEqual([
      101, 102, 104,
    ])
  })

  it.each([429, 504, 410, 500])('S4: continues when the periodic list fails with HTTP %d', async (status) => {
    start({ relistMs: 40, watchSeconds: [300, 600] })
    await stage.server.nextWatch().then((watch) => watch.end())
    // After HTTP 504 the reflector first retries with smaller pages.
    const refusals = Array.from({ length: 400 }, () => ({ sort: 'list', status }) as const)
    stage.server.refusals.push(...refusals)
    const first = await watchWith('a')
    let watch = await ended(first)
    while (stage.server.refusals.length === 400) watch = await ended(watch)
    expect(watch.url.searchParams.get('resourceVersion')).toBe('101')
    watch.send('ADDED', event('b', 102))
    await upTo(102)
    // The list is still due and succeeds as soon as the server allows it.
    stage.server.refusals.splice(0)
    stage.server.objects = [event('a', 101), event('b', 102), event('c', 103)]
    stage.server.version = 104
    while ((await stage.checkpoint()) !== 104) watch = await ended(watch)
    expect((await journaled()).at(-1)).toBe('relist ADDED c 103 wake')
  })

  async function ended(watch: Connection): Promise<Connection> {
    watch.end()
    return await stage.server.nextWatch()
  }
})

describe('a watch whose version is too old', () => {
  const expired = { kind: 'Status', code: 410, reason: 'Expired' }

  it.each<[string, (watch: Connection) => void]>([
    [
      'by status',
      (watch) => {
        stage.server.refusals.push({ sort: 'watch', status: 410, body: expired })
        watch.cut()
      },
    ],
    ['by an error event', (watch) => watch.send('ERROR', expired)],
  ])('S4, T10: gets %s, and a list shows the missed changes', async (_case, refuse) => {
    start()
    const first = await watchWith('a', 'b', 'c', 'd', 'e', 'f', 'g')
    stage.server.objects = [event('a', 101), event('b', 150), event('new', 160)]
    stage.server.version = 200
    refuse(first)
    expect((await stage.server.nextWatch()).url.searchParams.get('resourceVersion')).toBe('200')
    expect((await journaled()).slice(7).sort()).toEqual([
      'relist ADDED new 160 wake',
      ...['c', 'd', 'e', 'f', 'g'].map((uid) => `relist DELETED ${uid} 200 wake`),
      'relist MODIFIED b 150 wake',
    ])
    const checkpoints = stage.db.selectFrom('watch_checkpoint').select(['resource_version', 'epoch'])
    expect(await checkpoints.execute()).toEqual([{ resource_version: 200, epoch: 2 }])
  })
})

describe('an event that PostgreSQL rejects', () => {
  /** An object with a name that is too long for PostgreSQL's indexes. */
  const unjournalable = (uid: string, version: number) =>
    task({ uid, version, name: randomBytes(20_000).toString('hex') })

  it('is skipped; other events of its batch and later events are journaled', async () => {
    stage.server.objects = [event('a', 90), unjournalable('b', 91), event('c', 92)]
    start({ pageLimit: 500 })
    const watch = await stage.server.nextWatch()
    for (const object of [event('a', 101), unjournalable('d', 102), event('c', 103)]) watch.send('MODIFIED', object)
    await upTo(103)
    expect(await journaled()).toEqual([
      'relist ADDED a 90 wake',
      'relist ADDED b 91 ignored',
      'relist ADDED c 92 wake',
      'watch MODIFIED a 101 wake',
      'watch MODIFIED d 102 ignored',
      'watch MODIFIED c 103 wake',
    ])
    const refused = stage.db.selectFrom('watch_event').selectAll().where('uid', '=', 'd')
    expect(await refused.execute()).toMatchObject([{ reason: 'could not be journaled', projection: {} }])
    expect(stage.messages()).toEqual(['event could not be journaled', 'event could not be journaled'])
  })
})

describe('a recreated cluster', () => {
  it('is listed although its versions are lower than the known ones', async () => {
    start()
    const first = await stage.server.nextWatch()
    first.send('ADDED', event('old', 5001))
    first.send('ADDED', event('kept', 5002))
    await upTo(5002)
    stage.server.objects = [event('kept', 7), event('fresh', 8)]
    stage.server.version = 9
    const tooLarge = {
      kind: 'Status',
      code: 504,
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
    }
    stage.server.refusals.push({ sort: 'watch', status: 504, body: tooLarge })
    first.cut()
    await stage.server.nextWatch()
    expect((await journaled()).slice(2)).toEqual([
      'relist MODIFIED kept 7 wake',
      'relist ADDED fresh 8 wake',
      'relist DELETED old 9 wake',
    ])
    expect(await newestVersion(stage.db, 'c', TASK, 'ns')).toBe(8)
  })
})
