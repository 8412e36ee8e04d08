// The sweep, and the job rows that it checks, against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { closeRun } from '../../activities/journal/write/close-runs.ts'
import { recordJobPhase, countPasses, type JobProgress } from '../../activities/journal/write/jobs.ts'
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
  IF_CHANGED,
  later,
  NOW,
  OPERATION,
  seen,
  TASK,
  taskKind,
  type TaskOptions,
  unrouted,
} from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

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
const known = async (...tasks: TaskOptions[]) => await test.know(...tasks.map((options) => seen('ADDED', options)))
const open = async (overrides: Parameters<typeof job>[0] = {}) => await openJob(test.db, job(overrides))
const pass = async (ms = 0, runID = 'r1') =>
  await countPasses(test.db, [{ workflowID: 'task/u1/j1', runID }], later(ms))
const lookUp = async (minute: number) => await jobsToLookUp(test.db, { cluster: 'c' }, later(minute * 60_000))

describe('the sweep', () => {
  const own: ResyncedController = {
    name: 'task',
    target: taskKind,
    requestedRun: taskRun,
    triggers: [{ path: annotation(OPERATION) }, { path: annotation(IF_CHANGED), when: 'edited' }],
  }
  const resync = async (controller = own) => {
    const of = { controllers: [controller], subjectKinds: { task: TASK }, watchedKinds: ['Task.test.pawl.dev'] }
    return await resyncWakes(test.db, { cluster: 'c', now: NOW, ...of })
  }
  const sweep = async (controller = own) => {
    await resync(controller)
    return (await test.wakes()).map(({ uid, job_id, cause }) => `${uid}/${job_id} ${cause}`)
  }
  const triggered = (...uids: readonly string[]) => uids.map((uid) => `${uid}/ sweep: trigger without a run`)
  const leaving = { deleting: true, finalizers: ['f'] }

  it('wakes an unfinished job that has neither a run nor a wake, once', async () => {
    await known(
      { uid: 'u1', version: 1, status: { jobID: 'j1' } },
      { uid: 'u2', version: 2, status: { jobID: 'j', jobIDFinished: 'j' } },
      { uid: 'u3', version: 3 },
    )
    await open()
    expect(await sweep()).toEqual([])
    await endJob(test.db, 'task/u1/j1', NOW)
    expect(await sweep()).toEqual(['u1/ sweep: unfinished job without a run'])
    expect(await resync()).toBe(0)
  })

  it('wakes idle root objects that have a trigger', async () => {
    const annotations = { [OPERATION]: 'reconcile' }
    const edited = { annotations: { [IF_CHANGED]: 'true' }, generation: 2 }
    await known(
      { uid: 'a', version: 1, annotations },
      { uid: 'b', version: 2, annotations, owner: { uid: 'a', kind: 'Task' } },
      { uid: 'c', version: 3, ...edited, status: { observedGeneration: 1 } },
      { uid: 'd', version: 4, ...edited, status: { observedGeneration: 2 } },
      { uid: 'e', version: 5, ...leaving },
      { uid: 'f', version: 6, ...leaving, owner: { uid: 'a', kind: 'Task' } },
      { uid: 'g', version: 7, ...leaving, owner: { uid: 'gone', kind: 'Other' } },
      // Marked, and yet its controller wants no run.
      { uid: 'h', version: 8, annotations: { [OPERATION]: 'something else' } },
      // The object of this uid is of another kind.
      { uid: 'i', version: 9, ...leaving, owner: { uid: 'a', kind: 'Other' } },
    )
    expect(await sweep()).toEqual(triggered('a', 'c', 'e', 'g', 'i'))
  })

  it('does not wake a child under deletion until the first list has shown that its parent is gone', async () => {
    await known({ uid: 'a', version: 1, ...leaving, owner: { uid: 'gone', kind: 'Task' } })
    expect(await sweep()).toEqual([])
    await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'r', leaseMs: 1000 })
    expect(await sweep()).toEqual([])
    await test.db.updateTable('watch_checkpoint').set({ resource_version: 5 }).execute()
    expect(await sweep()).toEqual(triggered('a'))
  })

  it('wakes objects that lack a list entry of a trigger, such as a finalizer, if their controller requests a run', async () => {
    const requestedRun = (task: object): RunRequest =>
      textAt(task, path('spec.type')) === 'mock' ? { jobID: undefined, cause: 'seen' } : { none: 'idle' }
    const spec = { type: 'mock' }
    await known(
      { uid: 'a', version: 1, spec },
      { uid: 'b', version: 2, spec, finalizers: ['g'] },
      { uid: 'c', version: 3, spec, finalizers: ['g', 'f'] },
      { uid: 'd', version: 4 },
    )
    const triggers = [{ path: path('metadata.finalizers'), lacks: 'f' }]
    expect(await sweep({ ...own, requestedRun, triggers })).toEqual(triggered('a', 'b'))
  })

  it('does not wake children that a run hosts', async () => {
    const requestedRun = (task: object, _: boolean, ownerJob?: string): RunRequest => {
      const { jobID } = jobIDsOf(task)
      return jobID === ownerJob ? { none: 'hosted' } : { jobID, cause: 'unfinished job' }
    }
    const status = { jobID: 'j1' }
    await known(
      { uid: 'x', version: 1, status },
      { uid: 'y', version: 2, status: { ...status, jobIDFinished: 'j1' } },
      { uid: 'of-x', version: 3, status, owner: { uid: 'x', kind: 'Task' } },
      { uid: 'of-y', version: 4, status, owner: { uid: 'y', kind: 'Task' } },
    )
    await open({ uid: 'x', workflow_id: 'task/x/j1' })
    expect(await sweep({ ...own, requestedRun, hostedBy: ['task'] })).toEqual([
      'of-y/ sweep: unfinished job without a run',
    ])
  })
})

describe('a job', () => {
  it('is looked up after one minute without a pass, then after increasing delays of at most ten minutes', async () => {
    await open()
    const lookedUp: number[] = []
    for (let minute = 0; minute <= 40; minute++) if ((await lookUp(minute)).length > 0) lookedUp.push(minute)
    expect(lookedUp).toEqual([1, 2, 4, 8, 16, 26, 36])
    await countPasses(test.db, [{ workflowID: 'task/gone/j1', runID: 'r1' }], later(0))
    await pass(41 * 60_000)
    expect(await test.rows('job', 'passes')).toEqual([{ passes: 1 }])
    expect(await lookUp(41.5)).toEqual([])
    expect(await lookUp(42)).toHaveLength(1)
  })

  it('is closed as lost and woken, unless a new run has its workflow ID', async () => {
    await open()
    const [found] = await lookUp(1)
    await open({ run_id: 'r2' })
    await recordLostJob(test.db, found!, NOW)
    expect(await test.wakes()).toEqual([])
    const [again] = await lookUp(1)
    await recordLostJob(test.db, again!, NOW)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', may_start: true, foreign_event: true, cause: 'run lost' }])
    expect(await test.rows('job', 'outcome')).toEqual([{ outcome: 'lost' }])
  })

  /** Whether the sweep wakes the job `ms` after its start. */
  const isBehind = async (ms: number) =>
    await wakeIfBehind(test.db, (await findOpenJob(test.db, 'task', 'u1'))!, later(ms))
  /** An event that wakes nobody, 2 s after the start of the job. */
  const happens = async (options: TaskOptions) =>
    await test.journal({ events: [seen('ADDED', options)] }, { ...unrouted, now: () => later(2000) })

  it.each<[string, TaskOptions]>([
    ['its subject', { uid: 'u1', version: 5 }],
    ['a child of its subject', { uid: 'child', version: 5, owner: { uid: 'u1', kind: 'Task' } }],
    ['an object that it waits for', { uid: 'waited', version: 5 }],
  ])('is woken when %s changed after its last pass', async (_, changed) => {
    await open()
    const at = { controller: 'task', uid: 'u1', cluster: 'c', ...TASK, namespace: 'ns' }
    await subscribe(test.db, { ...at, job_id: 'j1', name: 'task-waited' }, NOW)
    await subscribe(test.db, { ...at, job_id: 'j0', name: 'task-other' }, NOW)
    await known({ version: 1 })
    await pass(1000)
    await happens({ uid: 'other', version: 4 })
    expect(await isBehind(3000)).toBe(false)
    await happens(changed)
    expect(await isBehind(3000)).toBe(true)
    expect(await test.wakes()).toMatchObject([{ uid: 'u1', cause: 'sweep: changes after the last pass' }])
    await pass(2500)
    expect(await isBehind(3000)).toBe(false)
  })

  it('that subscribes by index keys is woken when the kind has changed and its last pass was ten minutes ago', async () => {
    await open({ job_id: '' })
    const whose = { controller: 'task', cluster: 'c', uid: 'u1', namespace: 'ns', name: 'task-u1' }
    await replaceSubscriptions(test.db, whose, [{ ...TASK, namespace: 'ns', name: '*', traits: ['app=web'] }], NOW)
    await known({ version: 1 })
    await pass(1000)
    await happens({ uid: 'other', version: 2 })
    expect([await isBehind(300_000), await isBehind(602_000)]).toEqual([false, true])
  })

  const progress = async (change: Partial<JobProgress>, ms = 0) => {
    const none = { workflowID: 'task/u1/j1', runID: 'r1', phase: undefined, lastError: undefined, attempt: 0 }
    await recordJobPhase(test.db, { ...none, ...change }, later(ms))
    return (await test.rows('job', 'last_error'))[0]?.last_error
  }

  it('stores its phases with their times and its attempt', async () => {
    await open()
    await progress({ phase: 'Init' })
    await progress({ phase: 'Init' }, 1)
    await progress({ attempt: 2 }, 2)
    await progress({ phase: 'Progressing', attempt: 3 }, 3)
    const phases = [
      { phase: 'Init', at: NOW.toISOString() },
      { phase: 'Progressing', at: later(3).toISOString() },
    ]
    expect(await test.rows('job', 'phase', 'attempt', 'phases')).toEqual([{ phase: 'Progressing', attempt: 3, phases }])
  })

  it('keeps its last error while passes fail, and clears it after a pass without a failure', async () => {
    await open()
    const lastError = { reason: 'R' }
    expect(await progress({ lastError, attempt: 1 })).toEqual(lastError)
    expect(await progress({ attempt: 2 })).toEqual(lastError)
    expect(await progress({})).toBeNull()
  })

  it('is reopened when another run gets its workflow ID, but not by the run that has ended', async () => {
    const row = async () => await test.rows('job', 'outcome', 'run_id', 'finished_at')
    await open()
    await endJob(test.db, 'task/u1/j1', later(5))
    await open()
    expect(await row()).toEqual([{ outcome: 'Deleted', run_id: 'r1', finished_at: later(5) }])
    await open({ run_id: 'r2' })
    expect(await row()).toEqual([{ outcome: null, run_id: 'r2', finished_at: null }])
  })
})

describe('a run that ends', () => {
  const ended = async (run_id: string, outcome: string) =>
    await closeRun(test.db, { ...job(), run_id, mode: 'job' }, outcome, later(5))
  const rows = async () => (await test.rows('job', 'outcome', 'run_id')).map((row) => [row.run_id, row.outcome])

  it('closes its job row, even if it ends before the dispatcher has written the row', async () => {
    await ended('r1', 'Done')
    await open()
    expect(await rows()).toEqual([['r1', 'Done']])
  })

  it('changes neither the job row of a later run nor an outcome that its own row already has', async () => {
    await open({ run_id: 'r2' })
    await ended('r1', 'Done')
    expect(await rows()).toEqual([['r2', null]])
    await ended('r2', 'Deleted')
    await ended('r2', 'Done')
    expect(await rows()).toEqual([['r2', 'Deleted']])
  })

  it.each([
    ['Superseded', 1],
    ['Succeeded', 1],
    ['Deleted', 0],
  ])('with outcome %s causes %i wakes of its subject', async (outcome, count) => {
    await open()
    await ended('r1', outcome)
    const wakes = (await test.wakes()).map(({ uid, may_start, cause }) => ({ uid, may_start, cause }))
    expect(wakes).toEqual(Array(count).fill({ uid: 'u1', may_start: true, cause: `run ended: ${outcome}` }))
  })
})

describe('a job whose run was already running', () => {
  const row = async () => (await test.rows('job', 'cause', 'run_id', 'passes', 'outcome'))[0]

  it('keeps the cause and the run ID from the starter of the run while its row is open', async () => {
    await open({ cause: 'annotation' })
    await pass()
    await open({ cause: 'running job', run_id: null })
    expect(await row()).toEqual({ cause: 'annotation', run_id: 'r1', passes: 1, outcome: null })
    await endJob(test.db, 'task/u1/j1', NOW)
    await open({ cause: 'running job', run_id: null })
    expect(await row()).toEqual({ cause: 'running job', run_id: null, passes: 0, outcome: null })
  })

  it('gets cause and run ID from the starter of the run, even if the starter writes later', async () => {
    await open({ cause: 'running job', run_id: null })
    await pass()
    await open({ cause: 'annotation' })
    expect(await row()).toMatchObject({ cause: 'annotation', run_id: 'r1', passes: 1 })
  })

  it('takes a run ID from passes of newer runs only, because an activity may outlive its run', async () => {
    await open({ run_id: 'r2' })
    await pass(0, 'r1')
    expect(await row()).toMatchObject({ run_id: 'r2', passes: 1 })
    await pass(0, 'r3')
    expect(await row()).toMatchObject({ run_id: 'r3', passes: 2 })
  })
})
