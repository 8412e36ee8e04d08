// How a reflector lists and watches: against a server that speaks the protocol badly, with a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { newestVersion } from '../../activities/journal/read/objects.ts'
import { notCaughtUp } from '../../worker/bridge/caught-up.ts'
import { TASK, task } from '../activities/journal/build-events.ts'
import type { BadServer } from '../worker/bridge/bad-server.ts'
import { event, eventually, useReflectorStage } from './reflector-stage.ts'

const stage = useReflectorStage(inject('servers').databaseUrl)
const { start, journaled, upTo } = stage

describe('a reflector that starts for the first time', () => {
  it('journals a paged list as one epoch and watches from its version', async () => {
    stage.server.objects = ['a', 'b', 'c', 'd', 'e'].map((uid, index) => event(uid, 90 + index))
    const reflector = start()
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
    await eventually(async () => expect(await Promise.resolve(notCaughtUp([reflector]))).toEqual({}))
  })

  it('says what it is doing until it is caught up', async () => {
    stage.server.refusals.push({ sort: 'list', status: 500 }, { sort: 'list', status: 404 })
    const reflector = start()
    expect(notCaughtUp([reflector])).toEqual({ 'Task.test.pawl.dev': 'starting' })
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
    const watch = await stage.server.nextWatch()
    watch.send('ADDED', event('a', 101))
    await upTo(101)
    harm(watch)
    const second = await stage.server.nextWatch()
    expect(second.url.searchParams.get('resourceVersion')).toBe('101')
    second.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect(await journaled()).toEqual(['watch ADDED a 101 wake', 'watch MODIFIED a 102 wake'])
  })

  it.each([401, 403, 429, 500, 503])('asks again when it is refused with %d', async (status) => {
    stage.server.refusals.push({ sort: 'watch', status }, { sort: 'watch', status })
    start()
    await stage.server.nextWatch()
    expect(stage.server.requests).toEqual(['list', 'watch 100', 'watch 100', 'watch 100'])
  })

  it('waits as long as Retry-After says', async () => {
    stage.server.refusals.push({ sort: 'watch', status: 429, headers: { 'retry-after': '1' } })
    const from = Date.now()
    start()
    await stage.server.nextWatch()
    expect(Date.now() - from).toBeGreaterThanOrEqual(1000)
  })

  it('reconnects when nothing comes for the time of the watchdog', async () => {
    start({ watchdogMs: 50 })
    await stage.server.nextWatch()
    const second = await stage.server.nextWatch()
    second.send('ADDED', event('a', 101))
    await upTo(101)
  })

  it('reads characters that are split between two chunks', async () => {
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

  it('does not hammer a server that accepts and hangs up', async () => {
    start({ backoffMs: { first: 40, longest: 40 } })
    const until = Date.now() + 400
    while (Date.now() < until) (await stage.server.nextWatch()).end()
    expect(stage.server.requests.length).toBeLessThan(25)
  })
})

describe('a watch whose version is too old', () => {
  it.each([
    [
      'by status',
      (): void =>
        void stage.server.refusals.push({
          sort: 'watch',
          status: 410,
          body: { kind: 'Status', code: 410, reason: 'Expired' },
        }),
    ],
    ['by an error event', undefined],
  ])('is answered %s, and a list shows what was missed', async (_case, refuse) => {
    start()
    const first = await stage.server.nextWatch()
    for (const [index, uid] of ['a', 'b', 'c', 'd', 'e', 'f', 'g'].entries())
      first.send('ADDED', event(uid, 101 + index))
    await upTo(107)
    stage.server.objects = [event('a', 101), event('b', 150), event('new', 160)]
    stage.server.version = 200
    if (refuse === undefined) first.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })
    else {
      refuse()
      first.cut()
    }
    expect((await stage.server.nextWatch()).url.searchParams.get('resourceVersion')).toBe('200')
    expect((await journaled()).slice(7).sort()).toEqual(
      [
        ...['c', 'd', 'e', 'f', 'g'].map((uid) => `relist DELETED ${uid} 200 wake`),
        'relist ADDED new 160 wake',
        'relist MODIFIED a 101 stale',
        'relist MODIFIED b 150 wake',
      ].sort(),
    )
    expect(await stage.db.selectFrom('watch_checkpoint').select(['resource_version', 'epoch']).execute()).toEqual([
      { resource_version: 200, epoch: 2 },
    ])
  })
})

describe('a cluster that was made anew', () => {
  it('is listed although its versions are smaller than the known ones', async () => {
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
