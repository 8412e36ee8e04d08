// The grouped journal: one transaction journals all writes of a pass, with the stored objects and the wakes.

import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'

import { checkReceivedEvents } from '../../activities/journal/read/received-events.ts'
import { beginActions, type NewAction } from '../../activities/journal/write/actions.ts'
import { createGroupedJournal, type GroupedJournal } from '../../activities/journal/write/grouped-journal.ts'
import { deps, later, NOW, routeToSelf, seen, TASK, type TaskOptions } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { openJob, readObject } from '../activities/journal/one-row.ts'
import { unexpected } from '../activities/journal/unexpected.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const U1 = { ...TASK, uid: 'u1', namespace: 'ns', name: 'task-u1' }
const WRITER = 'task/u1/j1'
const OBJECT = 'Task.test.pawl.dev/ns/a'

/** Routes events like `routeToSelf`, but with the given mode. */
const asks = (mode: 'start' | 'notify') => (event: Parameters<typeof routeToSelf>[0]) => {
  const routing = routeToSelf(event)
  return 'routes' in routing ? { routes: routing.routes.map((route) => ({ ...route, mode })) } : routing
}

describe('the writes of a run', () => {
  let journal: GroupedJournal
  const open = (route: typeof routeToSelf = routeToSelf) =>
    createGroupedJournal({ db: test.db, asyncCommitDb: test.db, report: unexpected }, 'c', { ...deps, route })
  const tell = (options: TaskOptions, finished: readonly NewAction[] = []) =>
    journal.finish({
      writer: WRITER,
      tree: ['u1'],
      events: [{ event: seen('MODIFIED', options), conflicted: false }],
      finished: finished.map((action) => ({ ...action, resource_version: 1, error: null, finished_at: NOW })),
    })
  const begin = { version: 5, status: { phase: 'Init', jobID: 'j1' } }
  const end = { version: 7, status: { phase: 'Succeeded', jobID: 'j1', jobIDFinished: 'j1' } }

  beforeEach(async () => {
    journal = open()
    await openJob(test.db, job())
  })
  afterEach(async () => {
    await journal.flushAll()
  })

  it('are journaled version by version, and the object row has the last version', async () => {
    tell(begin)
    tell({ version: 6, status: { phase: 'Progressing', jobID: 'j1' } })
    expect(await test.outcomes()).toEqual([])
    await journal.flush(WRITER)
    expect((await test.outcomes()).map((one) => one.split(':')[0])).toEqual(['write 5 ignored', 'write 6 ignored'])
    expect(await readObject(test.db, 'c', TASK, 'u1')).toMatchObject({ resource_version: 6 })
    expect(await test.wakes()).toEqual([])
  })

  it('are visible to the next step before the flush', async () => {
    tell(begin)
    tell({ uid: 'u2', version: 6, owner: { uid: 'u1', kind: 'Task' } })
    expect(await journal.family(U1)).toMatchObject({
      self: { uid: 'u1', version: 5, deleted: false },
      children: [{ uid: 'u2', version: 6, owner: { uid: 'u1' } }],
    })
    tell({ uid: 'u2', version: 8, owner: { uid: 'u1', kind: 'Task' }, deleting: true, finalizers: [] })
    expect(await journal.family(U1)).toMatchObject({ children: [{ uid: 'u2', version: 8, deleted: true }] })
    await journal.flush(WRITER)
    expect(await journal.family(U1)).toMatchObject({ self: { version: 5 }, children: [{ deleted: true }] })
  })

  it('set the minimum resource version for lists of their kind before the flush', async () => {
    tell(begin)
    tell({ uid: 'u2', version: 6 })
    expect(journal.newestWritten(TASK, 'ns')).toBe(6)
    expect(journal.newestWritten(TASK, undefined)).toBe(6)
    expect(journal.newestWritten(TASK, 'other')).toBe(0)
    expect(journal.newestWritten({ ...TASK, kind: 'Other' }, 'ns')).toBe(0)
    await journal.flush(WRITER)
    expect(journal.newestWritten(TASK, 'ns')).toBe(0)
  })

  const action = (step: string) => ({
    workflow_id: WRITER,
    run_id: 'r1',
    pass: 1,
    step,
    object: OBJECT,
    verb: 'patch',
    field_manager: 'f',
    started_at: NOW,
  })

  it('hold the events of their objects until the flush', async () => {
    const held = async () => {
      const asked = { cluster: 'c', ...TASK, objects: [OBJECT], versions: [] }
      return [...(await checkReceivedEvents(test.db, asked, later(-1000))).held]
    }
    await beginActions(test.db, [action('s')])
    tell(begin, [action('s')])
    expect(await held()).toEqual([OBJECT])
    await journal.flush(WRITER)
    expect(await held()).toEqual([])
  })

  it('create one action row per object before the flush, and one action row per write in the flush', async () => {
    const rows = async () =>
      (await test.rows('action', 'step', 'finished_at', 'resource_version')).map(
        ({ step, finished_at, resource_version }) => [step, finished_at !== null, resource_version],
      )
    await journal.begin([action('a')])
    tell(begin, [action('a')])
    await journal.begin([action('b')])
    tell({ version: 6, status: { phase: 'Progressing', jobID: 'j1' } }, [action('b')])
    // Write c is still in flight when the flush journals the writes before it.
    await journal.begin([action('c')])
    expect(await rows()).toEqual([['a', false, null]])
    await journal.flush(WRITER)
    expect(await rows()).toEqual([
      ['a', true, 1],
      ['b', true, 1],
      ['c', false, null],
    ])
    // The row of c holds the events of the object now, so that d needs no row before the flush.
    await journal.begin([action('d')])
    expect(await rows()).toHaveLength(3)
    tell({ ...begin, version: 7 }, [action('c'), action('d')])
    await journal.flush(WRITER)
    await journal.begin([action('e')])
    expect(await rows()).toEqual([...['a', 'b', 'c', 'd'].map((step) => [step, true, 1]), ['e', false, null]])
  })

  it('wake their subject after the end of its job when the last version of the object requests a run', async () => {
    tell(begin)
    tell(end)
    await journal.flush(WRITER)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', seq: expect.any(Number) as number }])
    expect((await test.outcomes()).map((one) => one.split(':')[0])).toEqual(['write 5 ignored', 'write 7 wake'])
  })

  it('wake no run after the end of the job when the object requests no run', async () => {
    journal = open(asks('notify'))
    tell(begin)
    tell(end)
    await journal.flush(WRITER)
    expect(await test.wakes()).toEqual([])
    expect(await test.rows('job', 'outcome')).toEqual([{ outcome: 'Succeeded' }])
  })
})
