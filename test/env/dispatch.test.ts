import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import { type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { startRun } from '../../worker/reconciler/runs.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { seen, type TaskOptions } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import type { DispatcherDeps } from '../../worker/reconciler/dispatcher.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import {
  createDispatcher,
  endAfterTest,
  JOB,
  journalObjects,
  levelRegistry,
  onFirstStart,
  storeUnfinished,
  storeWake,
  useTemporal,
} from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()
const resolve = async (wake: Wake) => await resolveWake(wake, directLookups(test.db))

describe('a wake of an item', () => {
  const owner = { uid: 'exec', name: 'shop', kind: 'Execution', apiVersion: executionKind.apiVersion }
  const leaving = { deleting: true, finalizers: ['f'], owner }
  const unfinished = { owner, status: { jobID: JOB } }
  const ofOthers = { spec: { type: 'example.com/theirs' } }
  const its = { workflowID: `deploy/ns/task-a/a/${JOB}`, input: { subject: { kind: 'DeployItem', uid: 'a' } } }
  const [ownRun, firstSeen] = [
    { to: 'start', run: its },
    { to: 'start', run: { controller: 'deploy', input: { cause: 'first seen' } } },
  ]

  interface Journaled {
    readonly item: Partial<TaskOptions>
    /** The list of executions; absent: no bridge watches them. */
    readonly list?: 'started' | 'complete'
    readonly execution?: Partial<TaskOptions>
  }

  it.each<[string, Journaled, object]>([
    ['under deletion is retried while no list is complete', { item: leaving, list: 'started' }, { to: 'later' }],
    [
      'under deletion starts its run after a list has shown that its execution is deleted',
      { item: leaving, list: 'complete' },
      { to: 'start', run: { controller: 'deploy' } },
    ],
    [
      'under deletion starts its run if no controller watches the kind of its owner',
      { item: { ...leaving, owner: { uid: 'x', kind: 'ConfigMap' } } },
      { to: 'start', run: { controller: 'deploy' } },
    ],
    [
      'with a job starts its run if its execution has no unfinished job',
      { item: unfinished, execution: { status: { jobID: JOB, jobIDFinished: JOB } } },
      ownRun,
    ],
    [
      'with a job starts its run if its execution shows another job',
      { item: unfinished, execution: { status: { jobID: 'another' } } },
      ownRun,
    ],
    ['with a job starts its run if its execution is deleted', { item: unfinished, list: 'complete' }, ownRun],
    [
      'with a job starts its run if its execution is in another namespace',
      { item: unfinished, list: 'complete', execution: { namespace: 'elsewhere', status: { jobID: JOB } } },
      ownRun,
    ],
    ['with a job is retried while its execution is unknown', { item: unfinished, list: 'started' }, { to: 'later' }],
    [
      'with a job starts the run of its execution, which has the job',
      { item: unfinished, execution: { status: { jobID: JOB } } },
      { to: 'start', run: { controller: 'execution' } },
    ],
    [
      'with a job starts no run if another deployer handles its type',
      { item: { ...unfinished, ...ofOthers }, list: 'complete' },
      { to: 'nothing' },
    ],
    ['that is new starts a run that adds the finalizer', { item: {} }, firstSeen],
    ['that is new starts no run if it has the finalizer', { item: { finalizers: [FINALIZER] } }, { to: 'nothing' }],
    ['that is new starts no run if it has an execution', { item: { owner }, list: 'complete' }, { to: 'nothing' }],
    ['that is new starts no run if another deployer handles its type', { item: ofOthers }, { to: 'nothing' }],
  ])('%s', async (_, { item, list, execution }, expected) => {
    await journalObjects(test, [{ uid: 'a', version: 1, ...item }])
    if (list !== undefined)
      await acquireLease(test.db, { cluster: 'c', ...groupKindOf(executionKind), owner: 'r', leaseMs: 1000 })
    if (list === 'complete') await test.db.updateTable('watch_checkpoint').set({ resource_version: 9 }).execute()
    const known = { uid: owner.uid, name: 'shop', version: 3, ...execution }
    if (execution !== undefined) await test.know(seen('ADDED', known, executionKind))
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject(expected)
  })
})

describe('the dispatcher', () => {
  const isQuiet = async () => (await test.wakes()).length === 0
  const dispatch = async (
    { client = temporal(), ...deps }: Partial<DispatcherDeps> = {},
    until: () => Promise<boolean> = isQuiet,
  ): Promise<void> => {
    const dispatcher = createDispatcher(test, client, deps)
    const running = dispatcher.run()
    await expect.poll(until, { timeout: 30_000 }).toBe(true)
    dispatcher.stop()
    await running
  }
  const unfinished = async () => await storeUnfinished(test, temporal())
  const runs = (workflowID: string) => temporal().workflow.getHandle(workflowID)

  it('stays ready and continues with other subjects if no run can be started for one subject', async () => {
    const [poisonous, healthy] = [await unfinished(), await unfinished()]
    // Temporal rejects workflow IDs of this length.
    const client = temporal()
    const start = client.workflow.start.bind(client.workflow)
    client.workflow.start = (async (...[type, options]: Parameters<typeof start>) => {
      const isPoisonous = options.workflowId === poisonous.workflowID
      return await start(type, { ...options, ...(isPoisonous && { workflowId: 'x'.repeat(1200) }) })
    }) as typeof start
    const reported: unknown[] = []
    const report = (_: string, error: unknown) => {
      if (error !== undefined) reported.push(error)
    }
    const left = async () => (await test.wakes()).map(({ uid, lease_until }) => [uid, lease_until])
    const isPutOff = async () => JSON.stringify(await left()) === JSON.stringify([[poisonous.uid, null]])
    await dispatch({ report, client }, isPutOff)
    expect(reported).toEqual([])
    expect(await findOpenJob(test.db, 'deploy', healthy.uid)).toBeDefined()
  })

  it('opens the row of a run in level mode before it signals the run', async () => {
    const uid = randomUUID()
    const workflow_id = `shop/ns/task-${uid}/${uid}`
    const handle = endAfterTest(temporal(), workflow_id)
    await journalObjects(test, [{ uid, version: 1 }])
    const run = async () => {
      await storeWake(test, uid, { controller: 'shop' })
      await dispatch({ registry: levelRegistry })
      return await findOpenJob(test.db, 'shop', uid)
    }
    const started = await run()
    expect(started).toMatchObject({ workflow_id, job_id: '' })
    // The run closes its row, but is still open in Temporal.
    await endJob(test.db, workflow_id, new Date())
    expect(await run()).toMatchObject({ workflow_id, run_id: null })
    const { events } = await handle.fetchHistory()
    expect((events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null)).toHaveLength(1)
    // After its end, the next run has the same workflow ID.
    await handle.terminate()
    expect((await run())?.run_id).not.toBe(started?.run_id)
  })

  it('restarts a run that Temporal has lost, also for a wake that may not start runs', async () => {
    const { uid, workflowID: workflow_id } = await unfinished()
    const row = async () => await findOpenJob(test.db, 'deploy', uid)
    await openJob(test.db, job({ workflow_id, run_id: '0', controller: 'deploy', uid, job_id: JOB }))
    await test.db.deleteFrom('wake').execute()
    await storeWake(test, uid, { job_id: JOB, may_start: false })
    const isRestarted = async () => ![undefined, '0'].includes((await row())?.run_id ?? undefined)
    await dispatch({}, async () => (await isRestarted()) && (await isQuiet()))
    expect(await row()).toMatchObject({ workflow_id, outcome: null })
  })

  it('restarts a terminated run only while its object requests the job', async () => {
    const { uid, workflowID } = await unfinished()
    const client = temporal()
    /** Dispatches the wake, and terminates the run without a trace in the journal. */
    const run = async () => {
      await dispatch()
      const { runId, staticDetails } = await runs(workflowID).describe()
      expect(await staticDetails()).toContain(`pawl replay deployitem/task-${uid} ${JOB} -n ns`)
      await runs(workflowID).terminate()
      await test.db.deleteFrom('job').execute()
      await storeWake(test, uid)
      return runId
    }
    const first = await run()
    expect(await run()).not.toBe(first)
    const [wake] = await test.wakes()
    const known = await resolve(wake!)
    expect(known).toMatchObject({ to: 'start', run: { workflowID } })
    if (known.to !== 'start') return
    // A wake from before the end of the job.
    const options = { taskQueue: 'none', controllers: undefined, workflowTaskTimeoutMs: 10_000 }
    expect(await startRun(client, known.run, options, false)).toEqual({ answer: 'ended' })
  })

  it('keeps the outcome of an ended run if the journal learns of another job meanwhile', async () => {
    const { uid, workflowID } = await unfinished()
    const next = randomUUID()
    endAfterTest(temporal(), workflowID.replace(JOB, next))
    await dispatch()
    await runs(workflowID).terminate()
    await test.db.updateTable('job').set({ outcome: 'Superseded', finished_at: new Date() }).execute()
    await storeWake(test, uid, { cause: 'run ended: Superseded' })
    const client = onFirstStart(temporal(), async (start) => {
      await journalObjects(test, [{ uid, version: 2, status: { jobID: next } }])
      return await start()
    })
    await dispatch({ client })
    expect(await test.rows('job', 'started_at', 'job_id', 'outcome')).toMatchObject([
      { job_id: JOB, outcome: 'Superseded' },
      { job_id: next, outcome: null },
    ])
  })

  it('does not open the row of a run after its lease has expired', async () => {
    const { uid, workflowID } = await unfinished()
    let stoppedMs = 0
    const client = onFirstStart(temporal(), async (start) => {
      const handle = await start()
      stoppedMs = 6000
      return handle
    })
    const row = async () => await findOpenJob(test.db, 'deploy', uid)
    const now = () => new Date(Date.now() + stoppedMs)
    await dispatch({ client, now }, async () => (await row()) !== undefined && (await isQuiet()))
    // The next delivery finds the run open.
    expect(await row()).toMatchObject({ workflow_id: workflowID, run_id: null })
  })

  it('postpones a wake of an in-flight run until its next pass, without a signal', async () => {
    const workflow_id = `execution/u9/${JOB}`
    await openJob(test.db, job({ workflow_id, run_id: 'r', controller: 'execution', uid: 'u9', job_id: JOB }))
    await storeWake(test, 'u9', { controller: 'execution' })
    // A pass counts as in flight for two seconds.
    const looked = new Date()
    const inFlightRuns = new InFlightRuns(() => looked)
    const look = async () => {
      inFlightRuns.passStarted(workflow_id)
      await countPasses(test.db, [{ workflowID: workflow_id, runID: 'r' }], new Date())
    }
    await look()
    const isPutOff = async () => {
      const [{ lease_until, due }] = (await test.wakes()) as [Wake]
      return lease_until === null && due.getTime() >= looked.getTime() + 2000
    }
    await dispatch({ inFlightRuns }, isPutOff)
    expect(inFlightRuns.passSettled(workflow_id).woken).toBe(true)
    await look()
    expect(inFlightRuns.passSettled(workflow_id).woken).toBe(false)
    await dispatch({ inFlightRuns })
    // A signal would have failed, because Temporal has no such run.
    expect(await findOpenJob(test.db, 'execution', 'u9')).toMatchObject({ outcome: null })
  })
})
