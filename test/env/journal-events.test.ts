// Journaling a batch against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { checkReceivedEvents, type ReceivedVersion } from '../../activities/journal/read/received-events.ts'
import { newestVersion } from '../../activities/journal/read/subjects.ts'
import { beginActions, finishActions } from '../../activities/journal/write/actions.ts'
import type { EventBatch } from '../../activities/journal/write/events.ts'
import type { BatchEvent } from '../../activities/journal/write/incoming-events.ts'
import type { RoutedEvent, Routing } from '../../workflows/kit/index.ts'
import { deps, later, NOW, seen, TASK, task, taskKind } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { openJob, readObject } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const { watch, write, relist, outcomes, wakes } = test
const RUN = 'task/u1/j1'
const changed = (version: number, phase?: string) =>
  seen('MODIFIED', { version, ...(phase !== undefined && { status: { phase } }) })
const object = async () => await readObject(test.db, 'c', TASK, 'u1')
const missing = (uid: string, listVersion = 20): BatchEvent => ({
  watched: taskKind,
  missing: { uid, namespace: 'ns', name: `task-${uid}` },
  listVersion,
})

const OBJECT = 'Task.test.pawl.dev/ns/task-u1'
const action = {
  workflow_id: RUN,
  run_id: 'r',
  pass: 1,
  step: 's',
  object: OBJECT,
  verb: 'patch',
  field_manager: 'pawl',
  started_at: NOW,
}
const finished = { ...action, resource_version: 5, error: null, finished_at: NOW }

describe('characters that PostgreSQL rejects', () => {
  it('are replaced by U+FFFD in journaled objects', async () => {
    const phase = 'a\0b\uD800c \\u0000 \u{1F600} \\\0'
    await watch(changed(5, phase))
    expect(await object()).toMatchObject({
      projection: { status: { phase: 'a\uFFFDb\uFFFDc \\u0000 \u{1F600} \\\uFFFD' } },
    })
    await watch(changed(6, phase))
    expect((await outcomes())[1]).toBe('watch 6 ignored: nothing declared changed')
  })

  it('are replaced by U+FFFD in the object names and errors of action rows', async () => {
    const named = { object: 'Task/ns/a\0b' }
    await beginActions(test.db, [{ ...action, ...named }])
    await finishActions(test.db, [{ ...finished, ...named, resource_version: null, error: { message: 'nul \0' } }])
    expect(await test.rows('action', 'object', 'error')).toEqual([
      { object: 'Task/ns/a\uFFFDb', error: { message: 'nul \uFFFD' } },
    ])
  })
})

describe('the actions of two runs of one workflow ID', () => {
  it('are stored separately, although both runs count their passes from 1', async () => {
    for (const run_id of ['r1', 'r2', 'r2']) await beginActions(test.db, [{ ...action, run_id }])
    await finishActions(test.db, [{ ...finished, run_id: 'r1' }])
    expect(await test.rows('action', 'run_id', 'resource_version')).toEqual([
      { run_id: 'r1', resource_version: 5 },
      { run_id: 'r2', resource_version: null },
    ])
  })
})

describe('journaling the events of a watch', () => {
  it('creates a wake for the first event and stores the object', async () => {
    const { events } = await watch(seen('ADDED', { version: 5, status: { phase: 'Init' } }))
    const seq = events[0]?.seq
    expect(events).toMatchObject([{ uid: 'u1', resource_version: 5, outcome: 'wake', reason: 'task ADDED' }])
    expect(await wakes()).toMatchObject([
      { controller: 'task', uid: 'u1', job_id: '', seq, due: NOW, foreign_event: true, may_start: true },
    ])
    const projection = { status: { phase: 'Init' } }
    expect(await object()).toMatchObject({ resource_version: 5, deleted: false, seq, projection })
  })

  it('records repeated and unchanged versions, and stores the newest resource version', async () => {
    const event = seen('ADDED', { version: 5 })
    await watch(event, event)
    await watch(event)
    await watch(changed(6))
    expect(await outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'watch 5 stale: this version is known',
      'watch 5 stale: this version is known',
      'watch 6 ignored: nothing declared changed',
    ])
    expect(await newestVersion(test.db, 'c', TASK, 'ns')).toBe(6)
  })

  it('detects a change of hashed content without storing the content', async () => {
    for (const version of [5, 6]) await watch(seen('MODIFIED', { version, data: { password: `canary-${version}` } }))
    expect(await outcomes()).toEqual(['watch 5 wake: task MODIFIED', 'watch 6 wake: task MODIFIED'])
    const tables = [test.db.selectFrom('object'), test.db.selectFrom('watch_event')] as const
    for (const table of tables) expect(JSON.stringify(await table.selectAll().execute())).not.toContain('canary')
  })

  it('records the reason when no controller handles the event', async () => {
    await watch(changed(5, 'Boring'))
    expect(await outcomes()).toEqual(['watch 5 ignored: boring'])
    expect(await wakes()).toEqual([])
  })

  it('merges many events of a subject into one wake', async () => {
    const { events } = await watch(changed(5, 'Init'), changed(6, 'Progressing'), changed(7, 'Completing'))
    expect(events.map(({ outcome }) => outcome)).toEqual(['wake', 'wake', 'wake'])
    expect(await wakes()).toMatchObject([{ uid: 'u1', seq: events[2]?.seq }])
  })

  it('passes the previous state of the object to the routes', async () => {
    const asked: RoutedEvent[] = []
    const route = (event: RoutedEvent): Routing => {
      asked.push(event)
      return { ignored: 'only looking' }
    }
    await test.journal({ events: [changed(5, 'Init'), changed(6, 'Progressing')] }, { ...deps, route })
    expect(asked.map(({ projection, previous }) => [projection['status'], previous?.['status']])).toEqual([
      [{ phase: 'Init' }, undefined],
      [{ phase: 'Progressing' }, { phase: 'Init' }],
    ])
  })

  it('rejects an invalid resourceVersion with an error that names the object', async () => {
    const metadata = { name: 'x', namespace: 'ns', uid: 'u', resourceVersion: 'abc' }
    const invalid = { watched: taskKind, type: 'ADDED', object: { ...task({ version: 1 }), metadata } } as const
    await expect(watch(invalid)).rejects.toThrow('Task ns/x: resourceVersion: found "abc"; expected a number')
  })
})

describe('journaling deletions', () => {
  it('keeps a deleted object as deleted when an event of the same version or another DELETED event arrives', async () => {
    await watch(seen('ADDED', { version: 5 }), seen('DELETED', { version: 8 }))
    await watch(changed(8), seen('DELETED', { version: 9 }))
    expect(await outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'watch 8 wake: task DELETED',
      'watch 8 stale: this version is known',
      'watch 9 ignored: already deleted',
    ])
    expect(await object()).toMatchObject({ deleted: true, resource_version: 9 })
  })

  it('treats the answer to the write that removed the last finalizer as the deletion', async () => {
    const leaving = { deleting: true, finalizers: ['f'] }
    await watch(seen('ADDED', { version: 5, ...leaving }))
    await write(RUN, seen('MODIFIED', { version: 5, deleting: true }))
    await watch(seen('DELETED', { version: 7, ...leaving }))
    expect(await outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'write 5 wake: task DELETED',
      'watch 7 ignored: already deleted',
    ])
  })

  it('marks objects that a list lacks as deleted unless their rows are newer; an event of the same version restores the object', async () => {
    await watch(seen('ADDED', { version: 5 }), seen('ADDED', { uid: 'u2', version: 30 }))
    await relist(missing('u1'), missing('u2'), missing('u3'))
    await relist(seen('ADDED', { version: 5 }))
    expect((await outcomes()).slice(2)).toEqual([
      'relist 20 wake: task DELETED',
      'relist 20 stale: newer than the list',
      'relist 20 stale: the journal does not have the object',
      'relist 5 wake: task ADDED',
    ])
    expect(await object()).toMatchObject({ deleted: false, presumed_deleted: false })
  })
})

describe('journaling the answers of writes', () => {
  it('marks the wake as own, so that the wake does not wake the run that wrote', async () => {
    await write(RUN, changed(5))
    expect(await wakes()).toMatchObject([{ uid: 'u1', foreign_event: false, writer: RUN }])
    await watch(changed(5))
    expect(await wakes()).toMatchObject([{ uid: 'u1', foreign_event: false }])
  })

  it.each<[string, Partial<EventBatch>, Parameters<typeof job>[0]]>([
    ['after a conflict', { conflicted: true }, {}],
    ['of another subject', {}, { uid: 'u9' }],
    ['of another controller', {}, { controller: 'other' }],
    ['of a uid that begins the same', {}, { uid: 'u11' }],
  ])('marks a write %s as foreign, by the row of the run and not by the workflow ID', async (_, batch, row) => {
    await openJob(test.db, job(row))
    await test.journal({ source: 'write', writer: RUN, ...batch, events: [changed(5)] })
    expect(await wakes()).toMatchObject([{ uid: 'u1', foreign_event: true, writer: null }])
  })

  it('stores a writer without a job row in the wake, so that the dispatcher can compare the writer with the run', async () => {
    const writer = 'task/ns/early/u9/j1'
    await write(writer, changed(5))
    expect(await wakes()).toMatchObject([{ uid: 'u1', foreign_event: false, writer }])
    await write(RUN, changed(6, 'B'))
    expect(await wakes()).toMatchObject([{ uid: 'u1', foreign_event: true }])
  })

  it('wakes for a foreign change that arrives after the answer of a later own write', async () => {
    await write(RUN, changed(5), changed(9, 'B'))
    await watch(changed(5))
    expect(await wakes()).toMatchObject([{ foreign_event: false }])
    await watch(changed(7))
    expect(await wakes()).toMatchObject([{ foreign_event: true }])
    expect((await outcomes()).slice(2)).toEqual([
      'watch 5 stale: the journal has version 9',
      'watch 7 wake: task MODIFIED',
    ])
    expect(await object()).toMatchObject({ resource_version: 9 })
  })
})

describe('the check of received events', () => {
  const check = async (versions: readonly ReceivedVersion[] = [], since = later(-1)) => {
    const asked = { cluster: 'c', ...TASK, objects: [OBJECT, 'Task.test.pawl.dev/ns/other'], versions }
    const { held, known } = await checkReceivedEvents(test.db, asked, since)
    return { held: [...held], known: [...known].sort() }
  }
  const at = (version: number, gone = false, uid = 'u1') => ({ uid, version, gone })

  it('finds the objects that are being written, until the answer is journaled or the write is too old', async () => {
    await beginActions(test.db, [action])
    expect((await check()).held).toEqual([OBJECT])
    expect((await check([], later(0))).held).toEqual([])
    await test.journal({ source: 'write', writer: RUN, events: [changed(5)], finished: [finished] })
    expect((await check()).held).toEqual([])
    await beginActions(test.db, [action])
    expect((await check()).held).toEqual([OBJECT])
  })

  it('finds exactly the versions that the journal has', async () => {
    expect((await check([at(5)])).known).toEqual([])
    await write(RUN, changed(5), changed(9, 'B'))
    const asked = [at(5), at(7), at(9), at(10), at(10, true), at(9, false, 'u2')]
    expect((await check(asked)).known).toEqual(['u1 5', 'u1 9'])
  })

  it('finds any version of the deletion of an object whose last finalizer a run removed', async () => {
    await write(RUN, seen('MODIFIED', { version: 9, deleting: true, finalizers: [] }))
    expect((await check([at(10, true)])).known).toEqual(['u1 10'])
  })

  it('finds no version of an object that a later list lacked', async () => {
    await watch(seen('ADDED', { version: 5 }))
    await relist(missing('u1', 8))
    expect((await check([at(5), at(6, true)])).known).toEqual([])
  })
})

describe('two concurrent writers', () => {
  it('journal the same event of a new object once, and record the second event as stale', async () => {
    for (let round = 0; round < 30; round++) {
      const event = seen('ADDED', { uid: `r${round}`, version: 5 })
      await Promise.all([watch(event), watch(event)])
    }
    const found = (await test.rows('watch_event', 'outcome')).map(({ outcome }) => outcome)
    expect(found).toEqual([...Array<string>(30).fill('stale'), ...Array<string>(30).fill('wake')])
  })

  it('record a new object as deleted in any order of its DELETED event and of the answer that removed its last finalizer', async () => {
    for (let round = 0; round < 60; round++) {
      const state = { uid: `gone${round}`, version: 7 }
      const both = [() => watch(seen('DELETED', state)), () => write(RUN, seen('MODIFIED', state))]
      await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((journal) => journal()))
    }
    expect(new Set((await test.rows('object', 'deleted')).map(({ deleted }) => deleted))).toEqual(new Set([true]))
  })

  it('never deadlock, in any order of their objects', async () => {
    const uids = Array.from({ length: 40 }, (_, index) => `d${index}`)
    const batch = (order: readonly string[], version: number) =>
      order.map((uid) => seen('MODIFIED', { uid, version, generation: version }))
    const orders = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => batch(n % 2 === 0 ? uids : uids.toReversed(), n))
    await Promise.all(orders.map((events) => watch(...events)))
    const versions = (await test.rows('object', 'resource_version')).map((row) => row.resource_version)
    expect(versions).toEqual(uids.map(() => 8))
  })
})
