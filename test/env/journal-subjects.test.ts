// Which subjects a journaled batch wakes in addition to its objects, and which jobs it closes; against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { subscribe } from '../../activities/journal/write/subscriptions.ts'
import type { Routing } from '../../workflows/kit/index.ts'
import { deps, later, NOW, seen, TASK, taskKind, unrouted } from '../activities/journal/build-events.ts'
import { job, newWake } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const { watch, write, know, wakes } = test
const uids = async () => (await wakes()).map(({ uid }) => uid)
const openJobOf = async (uid: string) => await openJob(test.db, job({ uid, workflow_id: `task/${uid}/j1` }))
const waits = { controller: 'task', job_id: 'j1', cluster: 'c', ...TASK, namespace: 'ns', name: 'task-u1' }
const shown = (version: number, status: object) => seen('MODIFIED', { version, status })
const ENDED = { jobID: 'j1', jobIDFinished: 'j1' }

describe('the journal', () => {
  it('wakes all dependents of an owner that are not deleted', async () => {
    const owner = { uid: 'u1', kind: 'Task' }
    const children = ['a', 'b', 'c'].map((uid) => seen('ADDED', { uid, version: 5, owner }))
    await know(...children, seen('DELETED', { uid: 'c', version: 6, owner }))
    const at = { controller: 'task', uid: 'u1', namespace: 'ns', name: 'x' }
    const route = (): Routing => ({ routes: [{ ...at, dependentsOf: 'u1', mode: 'notify', cause: 'owner' }] })
    await test.journal({ events: [seen('ADDED', { version: 9 })] }, { ...deps, route })
    expect((await wakes()).map(({ uid, name, may_start }) => [uid, name, may_start])).toEqual([
      ['a', 'task-a', false],
      ['b', 'task-b', false],
    ])
    const subjectKinds = { task: { ...TASK, group: 'other.pawl.dev' } }
    const events = [seen('MODIFIED', { version: 10, generation: 2 })]
    await test.journal({ events }, { ...deps, route, subjectKinds })
    expect((await test.outcomes()).at(-1)).toBe('watch 10 ignored: no subject is concerned')
  })

  it('wakes the subscribers of an object by its name, until their job closes', async () => {
    await openJobOf('s1')
    for (const uid of ['s1', 's2', 's2']) await subscribe(test.db, { ...waits, uid }, NOW)
    await know(seen('ADDED', { version: 5 }))
    expect((await wakes()).map(({ uid, may_start }) => [uid, may_start])).toEqual([
      ['s1', false],
      ['s2', false],
    ])
    await test.db.deleteFrom('wake').execute()
    await endJob(test.db, 'task/s1/j1', NOW)
    await know(seen('MODIFIED', { version: 6, generation: 2 }))
    expect(await uids()).toEqual(['s2'])
  })

  it('deletes the subscriptions of a job when the job closes', async () => {
    for (const uid of ['u1', 'u2', 'u3']) {
      await subscribe(test.db, { ...waits, uid, name: 'missing' }, NOW)
      await openJobOf(uid)
    }
    await endJob(test.db, 'task/u1/j1', NOW)
    await write('task/u2/j1', seen('ADDED', { uid: 'u2', version: 5, status: { ...ENDED, phase: 'Succeeded' } }))
    expect(await test.rows('subscription', 'uid')).toEqual([{ uid: 'u3' }])
    expect(await findOpenJob(test.db, 'task', 'u2')).toBeUndefined()
  })

  it('deletes the delayed wake of a job when the job closes, unless the wake is due, or an event or another job contributed to it', async () => {
    const changes = { u1: {}, u2: { seq: 7 }, u3: { due: NOW }, u4: { writer: 'task/u4/j0' } }
    const timers = Object.entries(changes).map(([uid, change]) =>
      newWake({ uid, seq: 0, due: later(60_000), writer: `task/${uid}/j1`, ...change }),
    )
    for (const { uid } of timers) await openJobOf(uid)
    await upsertWakes(test.db, timers, NOW)
    for (const { uid } of timers) await endJob(test.db, `task/${uid}/j1`, NOW)
    expect(await uids()).toEqual(['u2', 'u3', 'u4'])
  })

  it('stores a write to an unfollowed kind as an event, but not the state of the object', async () => {
    await write('task/u1/j1', seen('ADDED', { version: 5 }, { ...taskKind, unfollowed: true }))
    expect(await test.outcomes()).toEqual(['write 5 wake: task ADDED'])
    expect(await test.rows('object', 'uid')).toEqual([])
  })
})

describe('a job row', () => {
  const isOpen = async () => (await findOpenJob(test.db, 'task', 'u1')) !== undefined

  it('is closed by the write of its run that finishes the job', async () => {
    await openJob(test.db, job())
    await watch(shown(5, { jobID: 'j1', phase: 'Init' }))
    expect(await isOpen()).toBe(true)
    await write('task/u1/j1', shown(6, { ...ENDED, phase: 'Failed' }))
    expect(await test.rows('job', 'outcome', 'finished_at')).toEqual([{ outcome: 'Failed', finished_at: NOW }])
  })

  it('is closed when its run releases the subject, but not when another job of the subject finishes', async () => {
    await openJob(test.db, job({ workflow_id: 'task/u1/j2', job_id: 'j2' }))
    await watch(shown(5, { jobID: 'j2', jobIDFinished: 'j1', phase: 'Succeeded' }))
    expect(await isOpen()).toBe(true)
    await write('task/u1/j2', seen('DELETED', { version: 6 }))
    expect(await test.rows('job', 'outcome')).toEqual([{ outcome: 'Deleted' }])
  })

  it.each([
    ['deletes the subject', seen('DELETED', { version: 6 })],
    ['marks the job as finished', shown(6, ENDED)],
  ])('stays open when another writer %s: the journal wakes the run, which ends itself', async (_, event) => {
    await openJob(test.db, job())
    await know(shown(5, { jobID: 'j1' }))
    expect(await wakes()).toEqual([])
    await test.journal({ events: [event] }, unrouted)
    expect(await isOpen()).toBe(true)
    expect(await wakes()).toMatchObject([
      {
        controller: 'task',
        uid: 'u1',
        name: 'n',
        may_start: false,
        cause: 'the run of its job was ended from outside',
      },
    ])
  })

  it.each([
    ['with the phase of the job', shown(5, { ...ENDED, phase: 'Succeeded' }), 'Succeeded'],
    ['without the phase of the next job', shown(5, { ...ENDED, jobID: 'j2', phase: 'Progressing' }), 'Finished'],
    ['as Deleted', seen('DELETED', { version: 5, status: { ...ENDED, jobID: 'j2', phase: 'Deleting' } }), 'Deleted'],
    ['never, because the job has not ended', shown(5, { jobID: 'j1', phase: 'Progressing' }), null],
  ])('is closed at its creation if the journal knows the end: %s', async (_, event, outcome) => {
    await watch(event)
    await openJob(test.db, job())
    expect(await test.rows('job', 'outcome', 'finished_at')).toEqual([{ outcome, finished_at: outcome && NOW }])
  })
})
