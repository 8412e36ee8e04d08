// Which subjects a journaled batch wakes in addition to its objects, and which jobs it closes; against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { subscribe } from '../../activities/journal/write/subscriptions.ts'
import type { Routing } from '../../workflows/kit/index.ts'
import { deps, NOW, seen, TASK, taskKind } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const watch = { cluster: 'c', source: 'watch' } as const
const write = { cluster: 'c', source: 'write', writer: 'task/u1/j1' } as const

describe('the journal', () => {
  const waits = { controller: 'task', uid: 's1', job_id: 'j1', cluster: 'c', ...TASK, namespace: 'ns', name: 'task-u1' }

  it('wakes all dependents of an owner that are not deleted', async () => {
    const owner = { uid: 'u1', kind: 'Task' }
    const children = ['a', 'b', 'c'].map((uid) => seen('ADDED', { uid, version: 5, owner }))
    await journalEvents(
      test.db,
      { ...watch, events: [...children, seen('DELETED', { uid: 'c', version: 6, owner })] },
      { ...deps, route: () => ({ ignored: 'set-up' }) },
    )
    const route = (): Routing => ({
      routes: [
        {
          controller: 'task',
          uid: 'u1',
          dependentsOf: 'u1',
          namespace: 'ns',
          name: 'x',
          mode: 'notify',
          cause: 'owner',
        },
      ],
    })
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 9 })] }, { ...deps, route })
    expect((await test.wakes()).map(({ uid, name, may_start }) => [uid, name, may_start])).toEqual([
      ['a', 'task-a', false],
      ['b', 'task-b', false],
    ])
    await journalEvents(
      test.db,
      { ...watch, events: [seen('MODIFIED', { version: 10, generation: 2 })] },
      { ...deps, route, subjectKinds: { task: { ...TASK, group: 'other.pawl.dev' } } },
    )
    expect((await test.outcomes()).at(-1)).toBe('watch 10 ignored: no subject is concerned')
  })

  it('wakes the subscribers of an object by its name, until their job closes', async () => {
    await openJob(test.db, job({ uid: 's1', workflow_id: 'task/s1/j1' }))
    for (const uid of ['s1', 's2', 's2']) await subscribe(test.db, { ...waits, uid }, NOW)
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, status: { phase: 'Boring' } })] },
      deps,
    )
    expect((await test.wakes()).map(({ uid, may_start }) => [uid, may_start])).toEqual([
      ['s1', false],
      ['s2', false],
    ])
    await test.db.deleteFrom('wake').execute()
    await endJob(test.db, 'task/s1/j1', NOW)
    await journalEvents(
      test.db,
      { ...watch, events: [seen('MODIFIED', { version: 6, generation: 2, status: { phase: 'Boring' } })] },
      deps,
    )
    expect((await test.wakes()).map(({ uid }) => uid)).toEqual(['s2'])
  })

  it('deletes the subscriptions of a job when the job closes', async () => {
    const wait = { controller: 'task', job_id: 'j1', cluster: 'c', ...TASK, namespace: 'ns', name: 'missing' }
    for (const uid of ['u1', 'u2', 'u3']) {
      await subscribe(test.db, { ...wait, uid }, NOW)
      await openJob(test.db, job({ uid, workflow_id: `task/${uid}/j1` }))
    }
    await endJob(test.db, 'task/u1/j1', NOW)
    const finished = { phase: 'Succeeded', jobID: 'j1', jobIDFinished: 'j1' }
    await journalEvents(
      test.db,
      { ...write, writer: 'task/u2/j1', events: [seen('ADDED', { uid: 'u2', version: 5, status: finished })] },
      deps,
    )
    expect(await test.db.selectFrom('subscription').select('uid').execute()).toEqual([{ uid: 'u3' }])
    expect(await findOpenJob(test.db, 'task', 'u2')).toBeUndefined()
  })

  it('deletes the delayed wake of a job when the job closes, unless the wake is due, or an event or another job contributed to it', async () => {
    const at = { controller: 'task', cluster: 'c', namespace: 'ns', name: 'n' }
    const later = new Date(NOW.getTime() + 60_000)
    const timer = { ...at, job_id: '', seq: 0, due: later, foreign_event: true, may_start: true, cause: 'due' }
    for (const uid of ['u1', 'u2', 'u3', 'u4']) await openJob(test.db, job({ uid, workflow_id: `task/${uid}/j1` }))
    const wake = (uid: string, change: object = {}) => ({ ...timer, uid, writer: `task/${uid}/j1`, ...change })
    await upsertWakes(
      test.db,
      [wake('u1'), wake('u2', { seq: 7 }), wake('u3', { due: NOW }), wake('u4', { writer: 'task/u4/j0' })],
      NOW,
    )
    for (const uid of ['u1', 'u2', 'u3', 'u4']) await endJob(test.db, `task/${uid}/j1`, NOW)
    expect((await test.wakes()).map(({ uid }) => uid)).toEqual(['u2', 'u3', 'u4'])
  })

  it('stores a write to an unfollowed kind as an event, but not the state of the object', async () => {
    const unfollowed = { ...taskKind, unfollowed: true } as const
    await journalEvents(test.db, { ...write, events: [seen('ADDED', { version: 5 }, unfollowed)] }, deps)
    expect(await test.outcomes()).toEqual(['write 5 wake: task ADDED'])
    expect(await test.db.selectFrom('object').select('uid').execute()).toEqual([])
  })
})

describe('a job row', () => {
  it('is closed by the write of its run that finishes the job', async () => {
    await openJob(test.db, job())
    await journalEvents(
      test.db,
      { ...watch, events: [seen('ADDED', { version: 5, status: { jobID: 'j1', phase: 'Init' } })] },
      deps,
    )
    expect(await findOpenJob(test.db, 'task', 'u1')).toMatchObject({ workflow_id: 'task/u1/j1' })
    await journalEvents(
      test.db,
      {
        ...write,
        events: [seen('MODIFIED', { version: 6, status: { jobID: 'j1', jobIDFinished: 'j1', phase: 'Failed' } })],
      },
      deps,
    )
    expect(await findOpenJob(test.db, 'task', 'u1')).toBeUndefined()
    expect(await test.db.selectFrom('job').selectAll().execute()).toMatchObject([
      { outcome: 'Failed', finished_at: NOW },
    ])
  })

  it('is closed when its run releases the subject, but not when another job of the subject finishes', async () => {
    await openJob(test.db, job({ workflow_id: 'task/u1/j2', job_id: 'j2' }))
    await journalEvents(
      test.db,
      {
        ...watch,
        events: [seen('ADDED', { version: 5, status: { jobID: 'j2', jobIDFinished: 'j1', phase: 'Succeeded' } })],
      },
      deps,
    )
    expect(await findOpenJob(test.db, 'task', 'u1')).toBeDefined()
    const released = { ...write, writer: 'task/u1/j2', events: [seen('DELETED', { version: 6 })] }
    await journalEvents(test.db, released, deps)
    expect(await test.db.selectFrom('job').selectAll().execute()).toMatchObject([{ outcome: 'Deleted' }])
  })

  it.each([
    ['deletes the subject', seen('DELETED', { version: 6 })],
    ['marks the job as finished', seen('MODIFIED', { version: 6, status: { jobID: 'j1', jobIDFinished: 'j1' } })],
  ])('stays open when another writer %s: the journal wakes the run, which ends itself', async (_, event) => {
    await openJob(test.db, job())
    const nobody = { ...deps, route: () => ({ ignored: 'nobody is concerned' }) }
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5, status: { jobID: 'j1' } })] }, nobody)
    expect(await test.wakes()).toEqual([])
    await journalEvents(test.db, { ...watch, events: [event] }, nobody)
    expect(await findOpenJob(test.db, 'task', 'u1')).toBeDefined()
    expect(await test.wakes()).toMatchObject([
      { controller: 'task', uid: 'u1', name: 'n', may_start: false, cause: 'its job was ended by another hand' },
    ])
  })

  it('is created as closed if the journal already knows that the job has finished', async () => {
    await journalEvents(
      test.db,
      {
        ...watch,
        events: [seen('ADDED', { version: 5, status: { jobID: 'j1', jobIDFinished: 'j1', phase: 'Succeeded' } })],
      },
      deps,
    )
    await openJob(test.db, job())
    expect(await test.db.selectFrom('job').selectAll().execute()).toMatchObject([
      { outcome: 'Succeeded', finished_at: NOW },
    ])
  })
})
