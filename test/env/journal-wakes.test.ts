// Wakes, the sweep and the retry budget against a real PostgreSQL.

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { takeRetryToken } from '../../activities/journal/backoff.ts'
import { holdLease } from '../../activities/journal/checkpoints.ts'
import { journalEvents } from '../../activities/journal/events.ts'
import { closeJob, type NewJob, openJob, recordJobPhase, touchJob } from '../../activities/journal/jobs.ts'
import { jobsToLookUp, recordLostJob, sweepWakes } from '../../activities/journal/sweep.ts'
import {
  acknowledgeWake,
  claimWakes,
  type NewWake,
  nextWakeDue,
  postponeWake,
  upsertWakes,
  type Wake,
} from '../../activities/journal/wakes.ts'
import { deps, later, NOW, seen, type TaskOptions } from '../activities/journal/build-events.ts'
import { createTestDatabase, type TestDatabase } from '../activities/journal/test-database.ts'

let test: TestDatabase
beforeAll(async () => {
  test = await createTestDatabase(inject('servers').databaseUrl)
})
afterAll(async () => {
  await test.drop()
})
beforeEach(async () => {
  for (const table of ['watch_event', 'object', 'wake', 'job', 'retry_bucket', 'watch_checkpoint'] as const)
    await test.db.deleteFrom(table).execute()
})

const wake = (overrides: Partial<NewWake> = {}): NewWake => ({
  ...{ controller: 'task', uid: 'u1', job_id: '', cluster: 'c', namespace: 'ns', name: 'n', seq: 1, due: NOW },
  ...{ foreign_event: false, may_start: false, writer: null, cause: 'test', ...overrides },
})
const upsert = async (overrides: Partial<NewWake> = {}) => await upsertWakes(test.db, [wake(overrides)], NOW)
const claim = async (now: Date = NOW, owner = 'd1', limit = 10) =>
  await claimWakes(test.db, { cluster: 'c', owner, limit, leaseMs: 1000, now })
const rows = async () => await test.db.selectFrom('wake').selectAll().orderBy('uid').execute()
const only = (wakes: readonly Wake[]): Wake => {
  expect(wakes).toHaveLength(1)
  return wakes[0]!
}

describe('a pending wake that is renewed', () => {
  it('draws a new version, keeps the smaller due time and the greater seq, and ors its marks', async () => {
    await upsert({ due: later(5000), seq: 7, may_start: true })
    const [first] = await rows()
    await upsert({ due: later(1000), seq: 3, foreign_event: true })
    const [second] = await rows()
    expect(second).toMatchObject({ due: later(1000), seq: 7, may_start: true, foreign_event: true })
    expect(second!.version).toBeGreaterThan(first!.version)
    await upsert({ due: later(9000), seq: 8 })
    expect(await rows()).toMatchObject([{ due: later(1000), seq: 8 }])
  })
})

describe('a run that backs off after a write of its own', () => {
  const run = 'task/u1/j1'
  const ownWrite = async () => await upsert({ writer: run, may_start: true, cause: 'job ID' })
  const retry = async () =>
    await upsert({ seq: 0, due: later(5000), foreign_event: true, may_start: true, writer: run, cause: 'retry 1' })

  it('is woken when its delay is over, not at once', async () => {
    await ownWrite()
    await retry()
    expect(await rows()).toMatchObject([{ due: later(5000), foreign_event: true, may_start: true }])
    expect(await claim(later(4999))).toEqual([])
  })

  it('is woken when its delay is over, too, when the wake of its pass was still taken', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await ownWrite()
    await retry()
    await acknowledgeWake(test.db, taken)
    expect(await rows()).toMatchObject([{ due: later(5000), foreign_event: true }])
  })

  it('is woken at once by what somebody else did', async () => {
    await ownWrite()
    await upsert({ foreign_event: true })
    await retry()
    expect(await rows()).toMatchObject([{ due: NOW, foreign_event: true }])
    await test.db.deleteFrom('wake').execute()
    await retry()
    await upsert({ foreign_event: true })
    expect(await rows()).toMatchObject([{ due: NOW, foreign_event: true }])
  })
})

describe('a wake with many causes', () => {
  it('names some of them and counts the rest', async () => {
    const causes = Array.from({ length: 500 }, (_, index) => `deploy item item-${index} finished`)
    await upsertWakes(
      test.db,
      [...causes, ...causes].map((cause) => wake({ cause })),
      NOW,
    )
    const [{ cause }] = (await rows()) as [Wake]
    expect(cause.length).toBeLessThanOrEqual(500)
    expect(cause).toMatch(/^deploy item item-0 finished; deploy item item-1 finished; .* and 48\d more$/)
    await upsert({ seq: 9, cause: 'x'.repeat(30_000) })
    expect((await rows())[0]!.cause).toMatch(/^x{480}/)
  })
})

describe('claiming wakes', () => {
  it('takes those that are due, oldest first, and leaves the others', async () => {
    await upsertWakes(
      test.db,
      [wake({ uid: 'a', due: later(20) }), wake({ uid: 'b', due: later(10) }), wake({ uid: 'c', due: later(99) })],
      NOW,
    )
    expect(await claim(later(5))).toEqual([])
    expect((await claim(later(50), 'd1', 1)).map(({ uid }) => uid)).toEqual(['b'])
    expect((await claim(later(50))).map(({ uid }) => uid)).toEqual(['a'])
    expect(await nextWakeDue(test.db, 'c')).toEqual(later(99))
  })

  it('gives each wake to one of many claimers', async () => {
    await upsertWakes(
      test.db,
      Array.from({ length: 50 }, (_, index) => wake({ uid: `u${index}` })),
      NOW,
    )
    const taken = await Promise.all(Array.from({ length: 8 }, (_, index) => claim(NOW, `d${index}`, 9)))
    const uids = taken.flat().map(({ uid }) => uid)
    expect(new Set(uids).size).toBe(uids.length)
    await claim(NOW, 'last', 99)
    expect((await rows()).every(({ lease_owner }) => lease_owner !== null)).toBe(true)
  })

  it('takes none of another cluster whose worker shares the journal', async () => {
    await upsertWakes(test.db, [wake({ cluster: 'other' })], NOW)
    await openJob(test.db, job({ cluster: 'other' }))
    expect(await claim()).toEqual([])
    expect(await nextWakeDue(test.db, 'c')).toBeUndefined()
    expect(await jobsToLookUp(test.db, 'c', later(60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, 'other', later(60_000))).toHaveLength(1)
  })

  it('takes over a wake whose lease ran out, with what came meanwhile', async () => {
    await upsert()
    await claim()
    await upsert({ foreign_event: true, may_start: true })
    expect(await claim(later(999), 'd2')).toEqual([])
    expect(only(await claim(later(1000), 'd2'))).toMatchObject({
      lease_owner: 'd2',
      foreign_event: true,
      may_start: true,
      next_due: null,
    })
  })
})

describe('a wake that was taken', () => {
  it('is deleted when it is acknowledged', async () => {
    await upsert()
    expect(await acknowledgeWake(test.db, only(await claim()))).toBe('deleted')
    expect(await rows()).toEqual([])
  })

  it('stays when something came meanwhile, with the time and the marks of what came only', async () => {
    await upsert({ foreign_event: true, may_start: true })
    const taken = only(await claim())
    await upsert({ due: later(60_000), writer: 'task/u1/j1', cause: 'retry 1' })
    expect(await acknowledgeWake(test.db, taken)).toBe('renewed')
    expect(await rows()).toMatchObject([
      { due: later(60_000), foreign_event: false, may_start: false, lease_owner: null, next_due: null },
    ])
    await upsert({ due: later(10), foreign_event: true })
    expect(await rows()).toMatchObject([{ due: later(10), foreign_event: true }])
  })

  it('keeps what came meanwhile when it is postponed', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await postponeWake(test.db, taken, later(5000))
    expect(await rows()).toMatchObject([{ due: later(5000), lease_owner: null, foreign_event: true }])
    const again = only(await claim(later(5000)))
    await upsert({ due: later(6000), may_start: true })
    await postponeWake(test.db, again, later(9000))
    expect(await rows()).toMatchObject([{ due: later(6000), may_start: true, foreign_event: true }])
  })

  it('is left alone by an acknowledgement whose lease another dispatcher has taken over', async () => {
    await upsert()
    const slow = only(await claim())
    await upsert()
    const taken = only(await claim(later(1000), 'd2'))
    expect(await acknowledgeWake(test.db, slow)).toBe('renewed')
    expect(await rows()).toMatchObject([{ lease_owner: 'd2', version: taken.version }])
  })
})

const job = (overrides: Partial<NewJob> = {}): NewJob => ({
  ...{
    workflow_id: 'task/u1/j1',
    run_id: 'r1',
    controller: 'task',
    cluster: 'c',
    uid: 'u1',
    job_id: 'j1',
    namespace: 'ns',
    name: 'n',
  },
  ...{ cause: 'test', started_at: NOW, ...overrides },
})

describe('the sweep', () => {
  const known = async (...tasks: TaskOptions[]) => {
    const events = tasks.map((options) => seen('ADDED', options))
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'watch', events },
      { ...deps, route: () => ({ ignored: 'set-up' }) },
    )
  }
  const own = { kind: 'Task', controller: 'task', run: 'own', annotated: true } as const
  const sweep = async (jobKinds: Parameters<typeof sweepWakes>[1]['jobKinds'] = [own]) => {
    await sweepWakes(test.db, { cluster: 'c', now: NOW, jobKinds, watchedKinds: ['Task'] })
    return (await rows()).map(({ uid, job_id, cause }) => `${uid}/${job_id} ${cause}`)
  }
  const reconcile = { 'landscaper.gardener.cloud/operation': 'reconcile' }

  it('wakes an unfinished job that has neither a run nor a wake, once', async () => {
    await known(
      { uid: 'u1', version: 1, status: { jobID: 'j1' } },
      { uid: 'u2', version: 2, status: { jobID: 'j', jobIDFinished: 'j' } },
      { uid: 'u3', version: 3 },
    )
    expect(await sweep()).toEqual(['u1/ sweep: unfinished job without a run'])
    expect(await sweepWakes(test.db, { cluster: 'c', now: NOW, jobKinds: [own], watchedKinds: [] })).toBe(0)
  })

  it('leaves a job alone that has a run', async () => {
    await known({ uid: 'u1', version: 1, status: { jobID: 'j1' } })
    await openJob(test.db, job())
    expect(await sweep()).toEqual([])
    await closeJob(test.db, 'task/u1/j1', 'lost', NOW)
    expect(await sweep()).toEqual(['u1/ sweep: unfinished job without a run'])
  })

  it('wakes idle objects with a trigger that are roots', async () => {
    await known(
      { uid: 'a', version: 1, annotations: reconcile },
      { uid: 'b', version: 2, annotations: reconcile, owner: { uid: 'a', kind: 'Task' } },
      {
        uid: 'c',
        version: 3,
        annotations: { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' },
        generation: 2,
        status: { observedGeneration: 1 },
      },
      {
        uid: 'd',
        version: 4,
        annotations: { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' },
        generation: 2,
        status: { observedGeneration: 2 },
      },
      { uid: 'e', version: 5, deleting: true, finalizers: ['f'] },
      { uid: 'f', version: 6, deleting: true, finalizers: ['f'], owner: { uid: 'a', kind: 'Other' } },
      { uid: 'g', version: 7, deleting: true, finalizers: ['f'], owner: { uid: 'gone', kind: 'Other' } },
    )
    expect(await sweep()).toEqual(['a', 'c', 'e', 'g'].map((uid) => `${uid}/ sweep: trigger without a run`))
  })

  it('leaves a child under deletion to its parent until the first list has shown that the parent is gone', async () => {
    const owner = { uid: 'gone', kind: 'Task' }
    await known({ uid: 'a', version: 1, deleting: true, finalizers: ['f'], owner })
    expect(await sweep()).toEqual([])
    await holdLease(test.db, { cluster: 'c', kind: 'Task', owner: 'r', leaseMs: 1000 })
    expect(await sweep()).toEqual([])
    await test.db.updateTable('watch_checkpoint').set({ resource_version: 5 }).execute()
    expect(await sweep()).toEqual(['a/ sweep: trigger without a run'])
  })

  it('wakes the group of unfinished items of the served types, by owner and job', async () => {
    const owner = { uid: 'x', kind: 'Execution' }
    const status = { jobID: 'j1' }
    await known(
      { uid: 'a', version: 1, owner, status, spec: { type: 'mock' } },
      { uid: 'b', version: 2, owner, status, spec: { type: 'mock' } },
      { uid: 'c', version: 3, owner: { uid: 'y', kind: 'Execution' }, status, spec: { type: 'foreign' } },
      { uid: 'd', version: 4, status, spec: { type: 'mock' } },
      { uid: 'e', version: 5, owner, status: { jobID: 'j0', jobIDFinished: 'j0' }, spec: { type: 'mock' } },
    )
    const group = { kind: 'Task', controller: 'deploy', run: { groupOfTypes: ['mock'] }, annotated: false } as const
    expect(await sweep([group])).toEqual([
      'd/j1 sweep: unfinished job without a run',
      'x/j1 sweep: unfinished job without a run',
    ])
    await test.db.deleteFrom('wake').execute()
    await openJob(test.db, job({ workflow_id: 'deploy/x/j1', controller: 'deploy', uid: 'x' }))
    expect(await sweep([group])).toEqual(['d/j1 sweep: unfinished job without a run'])
  })
})

describe('an open job', () => {
  it('is looked up after a minute without a pass, then after ever longer times up to ten minutes', async () => {
    await openJob(test.db, job())
    const lookedUp: number[] = []
    for (let minute = 0; minute <= 40; minute++) {
      if ((await jobsToLookUp(test.db, 'c', later(minute * 60_000))).length > 0) lookedUp.push(minute)
    }
    expect(lookedUp).toEqual([1, 2, 4, 8, 16, 26, 36])
    expect(await touchJob(test.db, 'task/u1/j1', later(41 * 60_000))).toBe(1)
    expect(await jobsToLookUp(test.db, 'c', later(41.5 * 60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, 'c', later(42 * 60_000))).toHaveLength(1)
  })

  it('is closed as lost with a wake, unless a new run has its ID', async () => {
    await openJob(test.db, job())
    const [found] = await jobsToLookUp(test.db, 'c', later(60_000))
    await openJob(test.db, job({ run_id: 'r2' }))
    await recordLostJob(test.db, found!, NOW, false)
    expect(await rows()).toEqual([])
    const [again] = await jobsToLookUp(test.db, 'c', later(60_000))
    await recordLostJob(test.db, again!, NOW, false)
    expect(await rows()).toMatchObject([{ uid: 'u1', may_start: true, foreign_event: true, cause: 'run lost' }])
    expect(await test.db.selectFrom('job').select('outcome').execute()).toEqual([{ outcome: 'lost' }])
  })

  it('keeps its phases with their times, its attempt and its last error', async () => {
    await openJob(test.db, job())
    const progress = { workflowID: 'task/u1/j1', lastError: undefined, attempt: 0 }
    await recordJobPhase(test.db, { ...progress, phase: 'Init' }, NOW)
    await recordJobPhase(test.db, { ...progress, phase: 'Init' }, later(1))
    await recordJobPhase(test.db, { ...progress, phase: undefined, lastError: { reason: 'R' }, attempt: 2 }, later(2))
    await recordJobPhase(
      test.db,
      { ...progress, phase: 'Progressing', lastError: { reason: 'R' }, attempt: 3 },
      later(3),
    )
    const [row] = await test.db.selectFrom('job').selectAll().execute()
    expect(row).toMatchObject({ phase: 'Progressing', attempt: 3, last_error: { reason: 'R' } })
    expect(row!.phases).toEqual([
      { phase: 'Init', at: NOW.toISOString() },
      { phase: 'Progressing', at: later(3).toISOString() },
    ])
  })

  it('keeps its last error while it fails, and clears it when a pass does not', async () => {
    await openJob(test.db, job())
    const lastErrors: unknown[] = []
    for (const [lastError, attempt] of [
      [{ reason: 'R' }, 1],
      [undefined, 2],
      [undefined, 0],
    ] as const) {
      await recordJobPhase(test.db, { workflowID: 'task/u1/j1', phase: undefined, lastError, attempt }, NOW)
      lastErrors.push((await test.db.selectFrom('job').select('last_error').executeTakeFirst())?.last_error)
    }
    expect(lastErrors).toEqual([{ reason: 'R' }, { reason: 'R' }, null])
  })

  it('starts anew when another run gets its ID, and stays closed for the same run', async () => {
    await openJob(test.db, job())
    await closeJob(test.db, 'task/u1/j1', 'Failed', later(5))
    await openJob(test.db, job())
    expect(await test.db.selectFrom('job').select(['outcome', 'run_id']).execute()).toEqual([
      { outcome: 'Failed', run_id: 'r1' },
    ])
    await openJob(test.db, job({ run_id: 'r2' }))
    expect(await test.db.selectFrom('job').select(['outcome', 'run_id', 'finished_at']).execute()).toEqual([
      { outcome: null, run_id: 'r2', finished_at: null },
    ])
  })
})

describe('a job whose run was found running', () => {
  it('keeps what the one who started it wrote', async () => {
    await openJob(test.db, job({ cause: 'annotation' }))
    await touchJob(test.db, 'task/u1/j1', NOW)
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    const row = test.db.selectFrom('job').select(['cause', 'run_id', 'passes', 'outcome'])
    expect(await row.execute()).toEqual([{ cause: 'annotation', run_id: 'r1', passes: 1, outcome: null }])
    await closeJob(test.db, 'task/u1/j1', 'lost', NOW)
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    expect(await row.execute()).toEqual([{ cause: 'running job', run_id: null, passes: 0, outcome: null }])
  })

  it('gets cause and run from the one who started it, when that one comes later', async () => {
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    await touchJob(test.db, 'task/u1/j1', NOW)
    await openJob(test.db, job({ cause: 'annotation' }))
    expect(await test.db.selectFrom('job').select(['cause', 'run_id', 'passes']).execute()).toEqual([
      { cause: 'annotation', run_id: 'r1', passes: 1 },
    ])
  })
})

describe('the budget of retries', () => {
  const take = async (now: Date) => await test.db.transaction().execute(async (trx) => await takeRetryToken(trx, now))

  it('gives a hundred at once, then ten a second', async () => {
    const delays: number[] = []
    for (let count = 0; count < 103; count++) delays.push(await take(NOW))
    expect(delays.slice(0, 100).every((delay) => delay === 0)).toBe(true)
    expect(delays.slice(100)).toEqual([100, 200, 300])
    expect(await take(later(1000))).toBe(0)
  })

  it('fills up to a hundred and no further', async () => {
    await take(NOW)
    const much = later(3_600_000)
    for (let count = 0; count < 100; count++) await take(much)
    expect(await take(much)).toBe(100)
  })
})
