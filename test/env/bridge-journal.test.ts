// A reflector whose journal is away or was emptied, and watch events on objects that a run is writing.

import { describe, expect, inject, it } from 'vitest'
import { beginActions, finishActions } from '../../activities/journal/write/actions.ts'
import { type EventBatch, journalEvents } from '../../activities/journal/write/events.ts'
import { routeToSelf, rules, task, taskKind } from '../activities/journal/build-events.ts'
import { asAdmin } from '../activities/journal/test-database.ts'
import { event, eventually, useReflectorStage } from './reflector-stage.ts'

const stage = useReflectorStage(inject('servers').databaseUrl)
const { start, journaled, checkpoint, upTo, watchWith } = stage

describe('a journal that is away for some time', () => {
  it('receives every event in order when it is back; further events wait in the connection', async () => {
    start()
    const watch = await watchWith('a')
    const name = new URL(stage.url).pathname.slice(1)
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
    const about = stage.messages().filter((message) => message.includes('batch'))
    expect([...new Set(about)]).toEqual(['batch of events is not journaled; the bridge retries it'])
  })
})

describe('an emptied journal', () => {
  it('is filled by a list again, including unchanged objects', async () => {
    stage.server.objects = [event('idle', 90)]
    start({ leaseMs: 150 })
    await stage.server.nextWatch()
    await upTo(100)
    for (const table of ['object', 'watch_event', 'watch_checkpoint'] as const)
      await stage.db.deleteFrom(table).execute()
    await eventually(async () => expect(await journaled()).toEqual(['relist ADDED idle 90 wake']))
  })
})

describe('a watch event on an object that a run is writing', () => {
  const key = { workflow_id: 'task/a/j', run_id: 'r', pass: 1, step: 's', verb: 'patch' }
  /** Stores the intent of a write of object a. */
  const begin = async () => {
    const begun = { ...key, object: 'Task.test.pawl.dev/ns/task-a', field_manager: 'pawl', started_at: new Date() }
    await beginActions(stage.db, [begun])
    return (resource_version: number) => ({ ...begun, resource_version, error: null, finished_at: new Date() })
  }
  const answer = async (batch: Pick<EventBatch, 'events' | 'finished'>, route: typeof routeToSelf = routeToSelf) => {
    const deps = { ...rules, route, contentKey: undefined, now: () => new Date() }
    await journalEvents(stage.db, { cluster: 'c', source: 'write', writer: key.workflow_id, ...batch }, deps)
  }

  it('is held until the answer is journaled; other objects pass and the checkpoint waits', async () => {
    start({ holdMs: 60_000 })
    const watch = await stage.server.nextWatch()
    const ended = await begin()
    watch.send('ADDED', event('b', 101))
    watch.send('ADDED', event('a', 102))
    watch.send('MODIFIED', event('b', 103))
    watch.send('MODIFIED', event('a', 104))
    await eventually(async () =>
      expect(await journaled()).toEqual(['watch ADDED b 101 wake', 'watch MODIFIED b 103 wake']),
    )
    expect(await checkpoint()).toBe(101)
    await finishActions(stage.db, [ended(104)])
    await upTo(104)
    expect((await journaled()).slice(2)).toEqual(['watch ADDED a 102 wake', 'watch MODIFIED a 104 wake'])
  })

  it('is held at most for the hold time', async () => {
    start({ holdMs: 150 })
    const watch = await stage.server.nextWatch()
    await begin()
    watch.send('ADDED', event('a', 101))
    await upTo(101)
  })

  it('is recognized by its version: it gets no row, and the checkpoint moves', async () => {
    start()
    const watch = await stage.server.nextWatch()
    const object = event('a', 101)
    const events = [{ watched: taskKind, type: 'ADDED', object } as const]
    await answer({ events }, () => ({ ignored: 'nobody asks' }))
    watch.send('ADDED', object)
    await upTo(101)
    expect(await journaled()).toEqual(['write ADDED a 101 ignored'])
    watch.send('MODIFIED', event('a', 102))
    await upTo(102)
    expect((await journaled()).slice(1)).toEqual(['watch MODIFIED a 102 wake'])
  })

  it('stays deleted after a write between its release and its end', async () => {
    start({ holdMs: 60_000 })
    const watch = await stage.server.nextWatch()
    const leaving = (version: number) =>
      task({ uid: 'a', version, generation: version, deleting: true, finalizers: [] })
    const ended = await begin()
    watch.send('MODIFIED', leaving(102))
    watch.send('DELETED', leaving(103))
    const events = [{ watched: taskKind, type: 'MODIFIED', object: leaving(101) } as const]
    await answer({ events, finished: [ended(101)] })
    await upTo(103)
    const rows = await stage.db.selectFrom('object').select(['resource_version', 'deleted']).execute()
    expect(rows).toEqual([{ resource_version: 102, deleted: true }])
    expect((await journaled()).slice(1)).toEqual(['watch MODIFIED a 102 ignored'])
  })
})
