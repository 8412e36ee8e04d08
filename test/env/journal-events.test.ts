// Journaling a batch against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { checkReceivedEvents } from '../../activities/journal/read/received-events.ts'
import { newestVersion } from '../../activities/journal/read/subjects.ts'
import { beginActions, finishActions } from '../../activities/journal/write/actions.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { RoutedEvent, Routing } from '../../workflows/kit/index.ts'
import { deps, later, NOW, seen, TASK, task, taskKind } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { openJob, readObject } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const watch = { cluster: 'c', source: 'watch' } as const
const write = { cluster: 'c', source: 'write', writer: 'task/u1/j1' } as const

describe('characters that PostgreSQL rejects', () => {
  it('are replaced by U+FFFD in journaled objects', async () => {
    const status = { phase: 'a\0b\uD800c \\u0000 \u{1F600} \\\0' }
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5, status })] }, deps)
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({
      projection: { status: { phase: 'a\uFFFDb\uFFFDc \\u0000 \u{1F600} \\\uFFFD' } },
    })
    await journalEvents(test.db, { ...watch, events: [seen('MODIFIED', { version: 6, status })] }, deps)
    expect((await test.outcomes())[1]).toBe('watch 6 ignored: nothing declared changed')
  })

  it('are replaced by U+FFFD in the object names and errors of action rows', async () => {
    const action = { workflow_id: 'w', run_id: 'r', pass: 1, step: 's', object: 'Task/ns/a\0b', verb: 'patch' }
    await beginActions(test.db, [{ ...action, field_manager: 'f', started_at: NOW }])
    const error = { message: 'nul \0' }
    const told = { field_manager: 'f', started_at: NOW, resource_version: null, error, finished_at: NOW }
    await finishActions(test.db, [{ ...action, ...told }])
    expect(await test.db.selectFrom('action').select(['object', 'error']).execute()).toEqual([
      { object: 'Task/ns/a\uFFFDb', error: { message: 'nul \uFFFD' } },
    ])
  })
})

describe('the actions of two runs of one workflow ID', () => {
  it('are stored separately, although both runs count their passes from 1', async () => {
    const action = { workflow_id: 'w', pass: 1, step: 's', object: 'Task/ns/a', verb: 'patch' }
    for (const run_id of ['r1', 'r2', 'r2'])
      await beginActions(test.db, [{ ...action, run_id, field_manager: 'f', started_at: NOW }])
    const told = { field_manager: 'f', started_at: NOW, resource_version: 7, error: null, finished_at: NOW }
    await finishActions(test.db, [{ ...action, run_id: 'r1', ...told }])
    expect(await test.db.selectFrom('action').select(['run_id', 'resource_version']).orderBy('seq').execute()).toEqual([
      { run_id: 'r1', resource_version: 7 },
      { run_id: 'r2', resource_version: null },
    ])
  })
})

describe('journaling the events of a watch', () => {
  it('creates a wake for the first event and stores the object', async () => {
    const { events } = await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, status: { phase: 'Init' } })] },
      deps,
    )
    expect(events).toMatchObject([{ uid: 'u1', resource_version: 5, outcome: 'wake', reason: 'task ADDED' }])
    expect(await test.wakes()).toMatchObject([
      {
        controller: 'task',
        uid: 'u1',
        job_id: '',
        seq: events[0]?.seq,
        due: NOW,
        foreign_event: true,
        may_start: true,
      },
    ])
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({
      resource_version: 5,
      deleted: false,
      seq: events[0]?.seq,
      projection: { status: { phase: 'Init' } },
    })
  })

  it('records a repeated event as stale', async () => {
    const event = seen('ADDED', { version: 5 })
    await journalEvents(test.db, { ...watch, events: [event, event] }, deps)
    await journalEvents(test.db, { ...watch, events: [event] }, deps)
    expect(await test.outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'watch 5 stale: this version is known',
      'watch 5 stale: this version is known',
    ])
  })

  it('ignores a newer version without changes in declared fields, but stores its resource version', async () => {
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5 })] }, deps)
    await journalEvents(test.db, { ...watch, events: [seen('MODIFIED', { version: 6 })] }, deps)
    expect(await test.outcomes()).toEqual(['watch 5 wake: task ADDED', 'watch 6 ignored: nothing declared changed'])
    expect(await newestVersion(test.db, 'c', TASK, 'ns')).toBe(6)
  })

  it('detects a change of hashed content without storing the content', async () => {
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, data: { password: 'canary-1' } })] },
      deps,
    )
    await journalEvents(
      test.db,
      { ...watch, events: [seen('MODIFIED', { version: 6, data: { password: 'canary-2' } })] },
      deps,
    )
    expect(await test.outcomes()).toEqual(['watch 5 wake: task ADDED', 'watch 6 wake: task MODIFIED'])
    const dump = JSON.stringify([
      await test.db.selectFrom('object').selectAll().execute(),
      await test.db.selectFrom('watch_event').selectAll().execute(),
    ])
    expect(dump).not.toContain('canary')
  })

  it('records the reason when no controller handles the event', async () => {
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, status: { phase: 'Boring' } })] },
      deps,
    )
    expect(await test.outcomes()).toEqual(['watch 5 ignored: boring'])
    expect(await test.wakes()).toEqual([])
  })

  it('merges many events of a subject into one wake', async () => {
    const events = ['Init', 'Progressing', 'Completing'].map((phase, index) =>
      seen('MODIFIED', { version: 5 + index, status: { phase } }),
    )
    const journaled = await journalEvents(test.db, { ...watch, events }, deps)
    expect(journaled.events.map(({ outcome }) => outcome)).toEqual(['wake', 'wake', 'wake'])
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', seq: journaled.events[2]?.seq }])
  })

  it('passes the previous state of the object to the routes', async () => {
    const asked: RoutedEvent[] = []
    const route = (event: RoutedEvent): Routing => {
      asked.push(event)
      return { ignored: 'only looking' }
    }
    const events = [
      seen('ADDED', { version: 5, status: { phase: 'Init' } }),
      seen('MODIFIED', { version: 6, status: { phase: 'Progressing' } }),
    ]
    await journalEvents(test.db, { ...watch, events }, { ...deps, route })
    expect(asked.map(({ projection, previous }) => [projection['status'], previous?.['status']])).toEqual([
      [{ phase: 'Init' }, undefined],
      [{ phase: 'Progressing' }, { phase: 'Init' }],
    ])
  })
})

describe('journaling deletions', () => {
  it('keeps a deleted object as deleted when an event of the same version or another DELETED event arrives', async () => {
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5 }), seen('DELETED', { version: 8 })] },
      deps,
    )
    await journalEvents(
      test.db,
      { ...watch, events: [seen('MODIFIED', { version: 8 }), seen('DELETED', { version: 9 })] },
      deps,
    )
    expect(await test.outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'watch 8 wake: task DELETED',
      'watch 8 stale: this version is known',
      'watch 9 ignored: already deleted',
    ])
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({ deleted: true, resource_version: 9 })
  })

  it('treats the answer to the write that removed the last finalizer as the deletion', async () => {
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, deleting: true, finalizers: ['f'] })] },
      deps,
    )
    await journalEvents(test.db, { ...write, events: [seen('MODIFIED', { version: 5, deleting: true })] }, deps)
    await journalEvents(
      test.db,
      { ...watch, events: [seen('DELETED', { version: 7, deleting: true, finalizers: ['f'] })] },
      deps,
    )
    expect(await test.outcomes()).toEqual([
      'watch 5 wake: task ADDED',
      'write 5 wake: task DELETED',
      'watch 7 ignored: already deleted',
    ])
  })

  it('marks objects that a list lacks as deleted unless their rows are newer; an event of the same version restores the object', async () => {
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5 }), seen('ADDED', { uid: 'u2', version: 30 })] },
      deps,
    )
    const missing = (uid: string) => ({
      watched: taskKind,
      missing: { uid, namespace: 'ns', name: `task-${uid}` },
      listVersion: 20,
    })
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'relist', events: [missing('u1'), missing('u2'), missing('u3')] },
      deps,
    )
    await journalEvents(test.db, { cluster: 'c', source: 'relist', events: [seen('ADDED', { version: 5 })] }, deps)
    expect((await test.outcomes()).slice(2)).toEqual([
      'relist 20 wake: task DELETED',
      'relist 20 stale: newer than the list',
      'relist 20 stale: the object was never known',
      'relist 5 wake: task ADDED',
    ])
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({ deleted: false, presumed_deleted: false })
  })
})

describe('journaling the answers of writes', () => {
  it('marks the wake as own, so that the wake does not wake the run that wrote', async () => {
    await journalEvents(test.db, { ...write, events: [seen('MODIFIED', { version: 5 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', foreign_event: false, writer: 'task/u1/j1' }])
    await journalEvents(test.db, { ...watch, events: [seen('MODIFIED', { version: 5 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', foreign_event: false }])
  })

  it.each([
    ['after a conflict', { ...write, conflicted: true }, job()],
    ['of another subject', write, job({ uid: 'u9' })],
    ['of another controller', write, job({ controller: 'other' })],
    ['of a uid that begins the same', write, job({ uid: 'u11' })],
  ])('marks a write %s as foreign, by the row of the run and not by the workflow ID', async (_case, origin, row) => {
    await openJob(test.db, row)
    await journalEvents(test.db, { ...origin, events: [seen('MODIFIED', { version: 5 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', foreign_event: true, writer: null }])
  })

  it('stores a writer without a job row in the wake, so that the dispatcher can compare the writer with the run', async () => {
    const writer = 'task/ns/early/u9/j1'
    await journalEvents(test.db, { ...write, writer, events: [seen('MODIFIED', { version: 5 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', foreign_event: false, writer }])
    await journalEvents(test.db, { ...write, events: [seen('MODIFIED', { version: 6, status: { phase: 'B' } })] }, deps)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', foreign_event: true }])
  })

  it('wakes for a foreign change that arrives after the answer of a later own write', async () => {
    await journalEvents(
      test.db,
      {
        ...write,
        events: [seen('MODIFIED', { version: 5 }), seen('MODIFIED', { version: 9, status: { phase: 'B' } })],
      },
      deps,
    )
    await journalEvents(test.db, { ...watch, events: [seen('MODIFIED', { version: 5 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ foreign_event: false }])
    await journalEvents(test.db, { ...watch, events: [seen('MODIFIED', { version: 7 })] }, deps)
    expect(await test.wakes()).toMatchObject([{ foreign_event: true }])
    expect((await test.outcomes()).slice(2)).toEqual([
      'watch 5 stale: version 9 is known',
      'watch 7 wake: task MODIFIED',
    ])
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({ resource_version: 9 })
  })

  it('finishes the action rows in the same transaction, which releases the held events', async () => {
    const action = {
      workflow_id: 'task/u1/j1',
      run_id: 'r',
      pass: 1,
      step: 's',
      object: 'Task.test.pawl.dev/ns/task-u1',
      verb: 'patch',
      field_manager: 'pawl',
      started_at: NOW,
    }
    await beginActions(test.db, [action])
    const objects = ['Task.test.pawl.dev/ns/task-u1', 'Task.test.pawl.dev/ns/other']
    const held = async (since: Date) => [
      ...(await checkReceivedEvents(test.db, { cluster: 'c', ...TASK, objects, versions: [] }, since)).held,
    ]
    expect(await held(later(-1))).toEqual(['Task.test.pawl.dev/ns/task-u1'])
    expect(await held(later(0))).toEqual([])
    await journalEvents(
      test.db,
      {
        ...write,
        events: [seen('MODIFIED', { version: 5 })],
        finished: [{ ...action, resource_version: 5, error: null, finished_at: NOW }],
      },
      deps,
    )
    expect(await held(later(-1))).toEqual([])
    await beginActions(test.db, [action])
    expect(await held(later(-1))).toEqual(['Task.test.pawl.dev/ns/task-u1'])
  })
})

describe('two concurrent writers', () => {
  it('journal the same event of a new object once, and record the second event as stale', async () => {
    for (let round = 0; round < 30; round++) {
      const batch = { ...watch, events: [seen('ADDED', { uid: `r${round}`, version: 5 })] }
      await Promise.all([journalEvents(test.db, batch, deps), journalEvents(test.db, batch, deps)])
    }
    const rows = await test.db.selectFrom('watch_event').select(['uid', 'outcome']).execute()
    expect(rows.filter(({ outcome }) => outcome === 'wake')).toHaveLength(30)
    expect(rows.filter(({ outcome }) => outcome === 'stale')).toHaveLength(30)
  })

  it('record a new object as deleted in any order of its DELETED event and of the answer that removed its last finalizer', async () => {
    const uids = Array.from({ length: 60 }, (_, index) => `gone${index}`)
    for (const uid of uids) {
      const deleted = { ...watch, events: [seen('DELETED', { uid, version: 7 })] }
      const released = { ...write, events: [seen('MODIFIED', { uid, version: 7 })] }
      const [first, second] = uids.indexOf(uid) % 2 === 0 ? [deleted, released] : [released, deleted]
      await Promise.all([journalEvents(test.db, first, deps), journalEvents(test.db, second, deps)])
    }
    const rows = await test.db.selectFrom('object').select('uid').where('deleted', '=', false).execute()
    expect(rows).toEqual([])
  })

  it('never deadlock, in any order of their objects', async () => {
    const uids = Array.from({ length: 40 }, (_, index) => `d${index}`)
    const batch = (order: readonly string[], version: number) => ({
      ...watch,
      events: order.map((uid) => seen('MODIFIED', { uid, version, generation: version })),
    })
    await Promise.all(
      Array.from({ length: 8 }, (_, round) =>
        journalEvents(test.db, batch(round % 2 === 0 ? uids : uids.toReversed(), round + 1), deps),
      ),
    )
    const rows = await test.db.selectFrom('object').select(['uid', 'resource_version']).execute()
    expect(new Set(rows.map(({ resource_version }) => resource_version))).toEqual(new Set([8]))
    expect(rows).toHaveLength(40)
  })
})

describe('an object with an invalid resourceVersion', () => {
  it('is rejected with an error that names the object', async () => {
    const object = {
      ...task({ version: 1 }),
      metadata: { name: 'x', namespace: 'ns', uid: 'u', resourceVersion: 'abc' },
    }
    await expect(
      journalEvents(test.db, { ...watch, events: [{ watched: taskKind, type: 'ADDED', object }] }, deps),
    ).rejects.toThrow('Task ns/x: resourceVersion is "abc", expected a number')
  })
})
