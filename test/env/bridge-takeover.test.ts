// The hand-over between reflectors: checkpoint and lease, across restarts at any time and with a second bridge.

import { describe, expect, inject, it } from 'vitest'
import { laggingKinds } from '../../worker/bridge/reflector.ts'
import { TASK } from '../activities/journal/build-events.ts'
import { event, eventually, useReflectorStage } from './reflector-stage.ts'

const stage = useReflectorStage(inject('servers').databaseUrl)
const { start, stop, journaled, checkpoint, upTo, watchWith } = stage

describe('a reflector that restarts', () => {
  it('S3: resumes from the checkpoint without a list', async () => {
    start()
    await watchWith('a')
    await stop()
    start({}, 'two')
    const second = await stage.server.nextWatch()
    second.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect(stage.server.requests).toEqual(['list', 'watch 100', 'watch 101'])
  })

  it('lists again when it watches other namespaces than before', async () => {
    start({}, 'one', undefined, 'ns')
    await watchWith('a')
    await stop()
    start({}, 'two', undefined, 'ns')
    await stage.server.nextWatch()
    await stop()
    stage.server.objects = [event('a', 101), event('of-another-namespace', 90)]
    stage.server.version = 102
    start({}, 'three')
    await upTo(102)
    await stage.server.nextWatch()
    expect(stage.server.requests).toEqual(['list', 'watch 100', 'watch 101', 'list', 'watch 102'])
    expect(await journaled()).toEqual(['watch ADDED a 101 wake', 'relist ADDED of-another-namespace 90 wake'])
  })

  it('lists again after it stopped during a list', async () => {
    stage.server.objects = ['a', 'b', 'c', 'd'].map((uid, index) => event(uid, 90 + index))
    await stage.db
      .insertInto('watch_checkpoint')
      .values({ cluster: 'c', api_group: TASK.group, kind: TASK.kind, resource_version: null, epoch: 0 })
      .execute()
    start()
    await stage.server.nextWatch()
    await stop()
    await stage.db.updateTable('watch_checkpoint').set({ resource_version: null }).execute()
    start({}, 'two')
    await stage.server.nextWatch()
    expect(stage.server.requests.filter((one) => one === 'list')).toHaveLength(4)
    expect(await journaled()).toHaveLength(4)
  })
})

describe('a reflector that is stopped repeatedly', () => {
  it('S3: journals every event once with any times of its stops', async () => {
    const last = 300
    const served = (async () => {
      for (;;) {
        const watch = await stage.server.nextWatch()
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
  it('elect one leader; the standby takes over when the leader stops', async () => {
    const firstOnly = new AbortController()
    start({ leaseMs: 60_000 }, 'one', firstOnly.signal)
    const watch = await stage.server.nextWatch()
    const standby = start({}, 'two')
    await eventually(async () => expect(await Promise.resolve(laggingKinds([standby]))).toEqual({}))
    watch.send('ADDED', event('a', 101))
    await upTo(101)
    expect(stage.server.requests).toEqual(['list', 'watch 100'])
    firstOnly.abort()
    const second = await stage.server.nextWatch()
    expect(second.url.searchParams.get('resourceVersion')).toBe('101')
  })

  it('that watch different namespaces: the second waits, and names both choices once', async () => {
    start({}, 'one', undefined, 'team-a')
    await stage.server.nextWatch()
    const other = start({ leaseMs: 30 }, 'two')
    await eventually(async () => expect(await Promise.resolve(stage.warnings())).toHaveLength(1))
    const found = { cluster: 'c', found: 'the namespace team-a', expected: 'all namespaces' }
    expect(stage.warnings()).toMatchObject([{ kind: 'Task.test.pawl.dev', ...found }])
    await expect.poll(() => laggingKinds([other])).toEqual({})
    start({}, 'three', undefined, 'team-a')
    await new Promise((done) => setTimeout(done, 100))
    expect(stage.warnings()).toHaveLength(1)
  })

  it('never journal at the same time: a reflector that lost its lease stops, and the other one journals its events', async () => {
    const firstOnly = new AbortController()
    start({ leaseMs: 60_000 }, 'one', firstOnly.signal)
    const watch = await stage.server.nextWatch()
    await stage.db
      .updateTable('watch_checkpoint')
      .set({ lease_owner: 'two', lease_until: new Date(Date.now() + 60_000) })
      .execute()
    watch.send('ADDED', event('a', 101))
    start({}, 'two')
    const second = await stage.server.nextWatch()
    second.send('ADDED', event('a', 101))
    await upTo(101)
    expect(await journaled()).toEqual(['watch ADDED a 101 wake'])
    firstOnly.abort()
  })
})
