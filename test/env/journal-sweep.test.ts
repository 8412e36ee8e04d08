// The sweep, and the job rows that it checks, against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { closeRun } from '../../activities/journal/write/close-runs.ts'
import { recordJobPhase, countPasses } from '../../activities/journal/write/jobs.ts'
import { replaceSubscriptions, subscribe } from '../../activities/journal/write/subscriptions.ts'
import {
  jobsToLookUp,
  recordLostJob,
  type ResyncedController,
  resyncWakes,
  wakeIfBehind,
} from '../../activities/journal/write/resync.ts'
import { annotation, isIdle, jobIDsOf, path, textAt, valueAt, type RunRequest } from '../../workflows/kit/index.ts'
import {
  deps,
  IF_CHANGED,
  later,
  NOW,
  OPERATION,
  seen,
  TASK,
  taskKind,
  type TaskOptions,
} from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const run = (workflowID = 'task/u1/j1', runID = 'r1') => ({ workflowID, runID })

/** What a task asks for: to be reconciled when an annotation says so, unless a task owns it, and its deletion when it has no owner. */
function taskRun(task: object, ownerGone: boolean): RunRequest {
  const ids = jobIDsOf(task)
  if (!isIdle(ids)) return { jobID: ids.jobID, cause: 'unfinished job' }
  const owners = (valueAt(task, path('metadata.ownerReferences')) ?? []) as readonly { readonly kind: string }[]
  const isRoot = !owners.some(({ kind }) => kind === 'Task')
  const isEdited = valueAt(task, path('metadata.generation')) !== valueAt(task, path('status.observedGeneration'))
  const isAsked =
    textAt(task, annotation(OPERATION)) === 'reconcile' || (textAt(task, annotation(IF_CHANGED)) === 'true' && isEdited)
  const isLeft = valueAt(task, path('metadata.deletionTimestamp')) !== undefined && ownerGone
  return (isRoot && isAsked) || isLeft ? { jobID: undefined, cause: 'asked' } : { none: 'idle' }
}

const test = useJournal(inject('servers').databaseUrl)
const subjectKinds = { task: TASK }

describe('the sweep', () => {
  const known = async (...tasks: TaskOptions[]) => {
    const events = tasks.map((options) => seen('ADDED', options))
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'watch', events },
      { ...deps, route: () => ({ ignored: 'set-up' }) },
    )
  }
  const own: ResyncedController = {
    name: 'task',
    target: taskKind,
    requestedRun: taskRun,
    triggers: [{ path: annotation(OPERATION) }, { path: annotation(IF_CHANGED), when: 'edited' }],
  }
  const sweep = async (...controllers: readonly ResyncedController[]) => {
    const swept = controllers.length > 0 ? controllers : [own]
    await resyncWakes(test.db, {
      cluster: 'c',
      now: NOW,
      controllers: swept,
      subjectKinds,
      watchedKinds: ['Task.test.pawl.dev'],
    })
    return (await test.wakes()).map(({ uid, job_id, cause }) => `${uid}/${job_id} ${cause}`)
  }
  const reconcile = { [OPERATION]: 'reconcile' }

  it('wakes an unfinished job that has neither a run nor a wake, once', async () => {
    await known(
      { uid: 'u1', version: 1, status: { jobID: 'j1' } },
      { uid: 'u2', version: 2, status: { jobID: 'j', jobIDFinished: 'j' } },
      { uid: 'u3', version: 3 },
    )
    expect(await sweep()).toEqual(['u1/ sweep: unfinished job without a run'])
    expect(
      await resyncWakes(test.db, { cluster: 'c', now: NOW, controllers: [own], subjectKinds, watchedKinds: [] }),
    ).toBe(0)
  })

  it('does not wake a job that has a run', async () => {
    await known({ uid: 'u1', version: 1, status: { jobID: 'j1' } })
    await openJob(test.db, job())
    expect(await sweep()).toEqual([])
    await endJob(test.db, 'task/u1/j1', NOW)
    expect(await sweep()).toEqual(['u1/ sweep: unfinished job without a run'])
  })

  it('wakes idle root objects that have a trigger', async () => {
    await known(
      { uid: 'a', version: 1, annotations: reconcile },
      { uid: 'b', version: 2, annotations: reconcile, owner: { uid: 'a', kind: 'Task' } },
      {
        uid: 'c',
        version: 3,
        annotations: { [IF_CHANGED]: 'true' },
        generation: 2,
        status: { observedGeneration: 1 },
      },
      {
        uid: 'd',
        version: 4,
        annotations: { [IF_CHANGED]: 'true' },
        generation: 2,
        status: { observedGeneration: 2 },
      },
      { uid: 'e', version: 5, deleting: true, finalizers: ['f'] },
      { uid: 'f', version: 6, deleting: true, finalizers: ['f'], owner: { uid: 'a', kind: 'Task' } },
      { uid: 'g', version: 7, deleting: true, finalizers: ['f'], owner: { uid: 'gone', kind: 'Other' } },
      // The object of this uid is of another kind.
      { uid: 'i', version: 9, deleting: true, finalizers: ['f'], owner: { uid: 'a', kind: 'Other' } },
      // Marked, and yet its controller wants no run.
      { uid: 'h', version: 8, annotations: { [OPERATION]: 'something else' } },
    )
    expect(await sweep()).toEqual(['a', 'c', 'e', 'g', 'i'].map((uid) => `${uid}/ sweep: trigger without a run`))
  })

  it('does not wake a child under deletion until the first list has shown that its parent is gone', async () => {
    const owner = { uid: 'gone', kind: 'Task' }
    await known({ uid: 'a', version: 1, deleting: true, finalizers: ['f'], owner })
    expect(await sweep()).toEqual([])
    await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'r', leaseMs: 1000 })
    expect(await sweep()).toEqual([])
    await test.db.updateTable('watch_checkpoint').set({ resource_version: 5 }).execute()
    expect(await sweep()).toEqual(['a/ sweep: trigger without a run'])
  })

  it('wakes objects that lack a list entry of a trigger, such as a finalizer, if their controller requests a run', async () => {
    const wantedRun = (task: object): RunRequest =>
      textAt(task, path('spec.type')) === 'mock' ? { jobID: undefined, cause: 'seen' } : { none: 'idle' }
    const guarding: ResyncedController = {
      ...own,
      requestedRun: wantedRun,
      triggers: [{ path: path('metadata.finalizers'), lacks: 'f' }],
    }
    const spec = { type: 'mock' }
    await known(
      { uid: 'a', version: 1, spec },
      { uid: 'b', version: 2, spec, finalizers: ['g'] },
      { uid: 'c', version: 3, spec, finalizers: ['g', 'f'] },
      { uid: 'd', version: 4 },
    )
    expect(await sweep(guarding)).toEqual(['a', 'b'].map((uid) => `${uid}/ sweep: trigger without a run`))
  })

  it('does not wake children that a run hosts', async () => {
    const wantedRun = (task: object, _: boolean, ownerJob?: string): RunRequest => {
      const { jobID } = jobIDsOf(task)
      return jobID === ownerJob ? { none: 'hosted' } : { jobID, cause: 'unfinished job' }
    }
    await known(
      { uid: 'x', version: 1, status: { jobID: 'j1' } },
      { uid: 'y', version: 2, status: { jobID: 'j1', jobIDFinished: 'j1' } },
      ...['x', 'y'].map((uid, index) => ({
        uid: `of-${uid}`,
        version: 3 + index,
        status: { jobID: 'j1' },
        owner: { uid, kind: 'Task' },
      })),
    )
    await openJob(test.db, job({ uid: 'x', workflow_id: 'task/x/j1' }))
    expect(await sweep({ ...own, requestedRun: wantedRun, hostedBy: ['task'] })).toEqual([
      'of-y/ sweep: unfinished job without a run',
    ])
  })
})

describe('a job', () => {
  it('is looked up after one minute without a pass, then after increasing delays of at most ten minutes', async () => {
    await openJob(test.db, job())
    const lookedUp: number[] = []
    for (let minute = 0; minute <= 40; minute++) {
      if ((await jobsToLookUp(test.db, { cluster: 'c' }, later(minute * 60_000))).length > 0) lookedUp.push(minute)
    }
    expect(lookedUp).toEqual([1, 2, 4, 8, 16, 26, 36])
    await countPasses(test.db, [run(), run('task/gone/j1')], later(41 * 60_000))
    expect(await test.db.selectFrom('job').select('passes').execute()).toEqual([{ passes: 1 }])
    expect(await jobsToLookUp(test.db, { cluster: 'c' }, later(41.5 * 60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, { cluster: 'c' }, later(42 * 60_000))).toHaveLength(1)
  })

  it('is closed as lost and woken, unless a new run has its workflow ID', async () => {
    await openJob(test.db, job())
    const [found] = await jobsToLookUp(test.db, { cluster: 'c' }, later(60_000))
    await openJob(test.db, job({ run_id: 'r2' }))
    await recordLostJob(test.db, found!, NOW)
    expect(await test.wakes()).toEqual([])
    const [again] = await jobsToLookUp(test.db, { cluster: 'c' }, later(60_000))
    await recordLostJob(test.db, again!, NOW)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', may_start: true, foreign_event: true, cause: 'run lost' }])
    expect(await test.db.selectFrom('job').select('outcome').execute()).toEqual([{ outcome: 'lost' }])
  })

  it.each<[string, TaskOptions]>([
    ['its subject', { uid: 'u1', version: 5 }],
    ['a child of its subject', { uid: 'child', version: 5, owner: { uid: 'u1', kind: 'Task' } }],
    ['an object that it waits for', { uid: 'waited', version: 5 }],
  ])('is woken when %s changed after its last pass', async (_, changed) => {
    await openJob(test.db, job())
    const at = { controller: 'task', uid: 'u1', cluster: 'c', ...TASK, namespace: 'ns' }
    await subscribe(test.db, { ...at, job_id: 'j1', name: 'task-waited' }, NOW)
    await subscribe(test.db, { ...at, job_id: 'j0', name: 'task-other' }, NOW)
    const subject = seen('ADDED', { uid: 'u1', version: 1 })
    await journalEvents(
      test.db,
      { cluster: 'c', source: 'watch', events: [subject] },
      { ...deps, route: () => ({ ignored: 'set-up' }) },
    )
    await countPasses(test.db, [run()], later(1000))
    const isBehind = async () => await wakeIfBehind(test.db, (await findOpenJob(test.db, 'task', 'u1'))!, later(3000))
    const happens = async (options: TaskOptions) =>
      await journalEvents(
        test.db,
        { cluster: 'c', source: 'watch', events: [seen('ADDED', options)] },
        { ...deps, route: () => ({ ignored: 'lost' }), now: () => later(2000) },
      )
    await happens({ uid: 'other', version: 4 })
    expect(await isBehind()).toBe(false)
    await happens(changed)
    expect(await isBehind()).toBe(true)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', cause: 'sweep: changes after the last pass' }])
    await countPasses(test.db, [run()], later(2500))
    expect(await isBehind()).toBe(false)
  })

  it('that subscribes by index keys is woken when the kind has changed and its last pass was ten minutes ago', async () => {
    await openJob(test.db, job({ uid: 'u1', job_id: '' }))
    const whose = { controller: 'task', cluster: 'c', uid: 'u1', namespace: 'ns', name: 'task-u1' }
    await replaceSubscriptions(test.db, whose, [{ ...TASK, namespace: 'ns', name: '*', traits: ['app=web'] }], NOW)
    const known = { cluster: 'c', source: 'watch', events: [seen('ADDED', { uid: 'u1', version: 1 })] } as const
    await journalEvents(test.db, known, { ...deps, route: () => ({ ignored: 'set-up' }) })
    await countPasses(test.db, [run()], later(1000))
    const other = { cluster: 'c', source: 'watch', events: [seen('ADDED', { uid: 'other', version: 2 })] } as const
    await journalEvents(test.db, other, { ...deps, route: () => ({ ignored: 'lost' }), now: () => later(2000) })
    const isBehind = async (ms: number) =>
      await wakeIfBehind(test.db, (await findOpenJob(test.db, 'task', 'u1'))!, later(ms))
    expect(await isBehind(300_000)).toBe(false)
    expect(await isBehind(602_000)).toBe(true)
  })

  it('stores its phases with their times, its attempt and its last error', async () => {
    await openJob(test.db, job())
    const progress = { workflowID: 'task/u1/j1', runID: 'r1', lastError: undefined, attempt: 0 }
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

  it('keeps its last error while passes fail, and clears it after a pass without a failure', async () => {
    await openJob(test.db, job())
    const lastErrors: unknown[] = []
    for (const [lastError, attempt] of [
      [{ reason: 'R' }, 1],
      [undefined, 2],
      [undefined, 0],
    ] as const) {
      await recordJobPhase(
        test.db,
        { workflowID: 'task/u1/j1', runID: 'r1', phase: undefined, lastError, attempt },
        NOW,
      )
      lastErrors.push((await test.db.selectFrom('job').select('last_error').executeTakeFirst())?.last_error)
    }
    expect(lastErrors).toEqual([{ reason: 'R' }, { reason: 'R' }, null])
  })

  it('is reopened when another run gets its workflow ID, but not by the run that has ended', async () => {
    await openJob(test.db, job())
    await endJob(test.db, 'task/u1/j1', later(5))
    await openJob(test.db, job())
    expect(await test.db.selectFrom('job').select(['outcome', 'run_id']).execute()).toEqual([
      { outcome: 'Deleted', run_id: 'r1' },
    ])
    await openJob(test.db, job({ run_id: 'r2' }))
    expect(await test.db.selectFrom('job').select(['outcome', 'run_id', 'finished_at']).execute()).toEqual([
      { outcome: null, run_id: 'r2', finished_at: null },
    ])
  })
})

describe('a run that ends', () => {
  const ended = async (run_id: string, outcome: string) =>
    await closeRun(test.db, { ...job(), run_id, mode: 'job' }, outcome, later(5))
  const rows = async () => await test.db.selectFrom('job').select(['outcome', 'run_id']).execute()

  it('closes its job row, even if it ends before the dispatcher has written the row', async () => {
    await ended('r1', 'Done')
    await openJob(test.db, job())
    expect(await rows()).toEqual([{ outcome: 'Done', run_id: 'r1' }])
  })

  it('changes neither the job row of a later run nor an outcome that its own row already has', async () => {
    await openJob(test.db, job({ run_id: 'r2' }))
    await ended('r1', 'Done')
    expect(await rows()).toEqual([{ outcome: null, run_id: 'r2' }])
    await ended('r2', 'Deleted')
    await ended('r2', 'Done')
    expect(await rows()).toEqual([{ outcome: 'Deleted', run_id: 'r2' }])
  })

  it.each([
    ['Superseded', 1],
    ['Succeeded', 1],
    ['Deleted', 0],
  ])('with outcome %s causes %i wakes of its subject', async (outcome, count) => {
    await openJob(test.db, job())
    await ended('r1', outcome)
    const wakes = (await test.wakes()).map(({ uid, may_start, cause }) => ({ uid, may_start, cause }))
    expect(wakes).toEqual(Array(count).fill({ uid: 'u1', may_start: true, cause: `run ended: ${outcome}` }))
  })
})

describe('a job whose run was already running', () => {
  it('keeps the cause and the run ID from the starter of the run while its row is open', async () => {
    await openJob(test.db, job({ cause: 'annotation' }))
    await countPasses(test.db, [run()], NOW)
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    const row = test.db.selectFrom('job').select(['cause', 'run_id', 'passes', 'outcome'])
    expect(await row.execute()).toEqual([{ cause: 'annotation', run_id: 'r1', passes: 1, outcome: null }])
    await endJob(test.db, 'task/u1/j1', NOW)
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    expect(await row.execute()).toEqual([{ cause: 'running job', run_id: null, passes: 0, outcome: null }])
  })

  it('gets cause and run ID from the starter of the run, even if the starter writes later', async () => {
    await openJob(test.db, job({ cause: 'running job', run_id: null }))
    await countPasses(test.db, [run()], NOW)
    await openJob(test.db, job({ cause: 'annotation' }))
    expect(await test.db.selectFrom('job').select(['cause', 'run_id', 'passes']).execute()).toEqual([
      { cause: 'annotation', run_id: 'r1', passes: 1 },
    ])
  })

  it('takes a run ID from passes of newer runs only, because an activity may outlive its run', async () => {
    const rowAfter = async (runID: string) => {
      await countPasses(test.db, [run('task/u1/j1', runID)], NOW)
      return await test.db.selectFrom('job').select(['run_id', 'passes']).execute()
    }
    await openJob(test.db, job({ run_id: 'r2' }))
    expect(await rowAfter('r1')).toEqual([{ run_id: 'r2', passes: 1 }])
    expect(await rowAfter('r3')).toEqual([{ run_id: 'r3', passes: 2 }])
  })
})
