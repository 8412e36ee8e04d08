import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { acquireLease } from '../../activities/journal/write/checkpoints.ts'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { startRun } from '../../worker/reconciler/runs.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { defineLevel, groupKindOf, nop } from '../../workflows/kit/index.ts'
import { deps, seen, type TaskOptions } from '../activities/journal/build-events.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import type { DispatcherDeps } from '../../worker/reconciler/dispatcher.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { JOB, useTemporal, createDispatcher, journalObjects, storeWake } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const owner = { uid: 'exec', name: 'shop', kind: 'Execution', apiVersion: executionKind.apiVersion }
const ignored = { ...deps, route: () => ({ ignored: 'set-up' }) }

async function listExecutions(): Promise<void> {
  await acquireLease(test.db, { cluster: 'c', ...groupKindOf(executionKind), owner: 'r', leaseMs: 1000 })
  await test.db.updateTable('watch_checkpoint').set({ resource_version: 9 }).execute()
}

const resolve = async (wake: Wake) => await resolveWake(wake, directLookups(test.db))

describe('an item under deletion whose execution is not in the journal', () => {
  const item = { uid: 'a', version: 1, deleting: true, finalizers: ['f'], owner }

  it('is retried while no list of executions is complete', async () => {
    await journalObjects(test, [item])
    await acquireLease(test.db, { cluster: 'c', ...groupKindOf(executionKind), owner: 'r', leaseMs: 1000 })
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'later' })
  })

  it('gets its own run after a list has shown that its execution is deleted', async () => {
    await journalObjects(test, [item])
    await listExecutions()
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', run: { controller: 'deploy' } })
  })

  it('gets its own run if no controller watches the kind of its owner', async () => {
    await journalObjects(test, [{ ...item, owner: { uid: 'x', kind: 'ConfigMap' } }])
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start' })
  })
})

describe('an unfinished item', () => {
  const item = { uid: 'a', version: 1, owner, status: { jobID: JOB } }
  const its = { workflowID: `deploy/ns/task-a/a/${JOB}`, input: { subject: { kind: 'DeployItem', uid: 'a' } } }
  const execution = async (status: object, namespace = 'ns') => {
    const { uid } = owner
    const event = seen('ADDED', { uid, name: 'shop', version: 3, namespace, status }, executionKind)
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [event] }, ignored)
  }

  it.each([
    ['has no unfinished job', { jobID: JOB, jobIDFinished: JOB }],
    ['shows another job', { jobID: 'another' }],
  ])('has its own run if its execution %s', async (_, status) => {
    await journalObjects(test, [item])
    await execution(status)
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', run: its })
  })

  it('has its own run if its execution is deleted, or in another namespace', async () => {
    await journalObjects(test, [item])
    await listExecutions()
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', run: its })
    await execution({ jobID: JOB }, 'elsewhere')
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', run: its })
  })

  it('has no run while its execution has the job, or is unknown', async () => {
    await journalObjects(test, [item])
    await acquireLease(test.db, { cluster: 'c', ...groupKindOf(executionKind), owner: 'r', leaseMs: 1000 })
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'later' })
    await execution({ jobID: JOB })
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', run: { controller: 'execution' } })
  })

  it('has no run if another deployer handles its type', async () => {
    await journalObjects(test, [{ ...item, spec: { type: 'example.com/theirs' } }])
    await listExecutions()
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'nothing' })
  })
})

describe('a new item', () => {
  const first = { run: { controller: 'deploy', input: { cause: 'first seen' } } }

  it('has a run that adds the finalizer if it has no execution', async () => {
    await journalObjects(test, [{ uid: 'a', version: 1 }])
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'start', ...first })
  })

  it.each<[string, Partial<TaskOptions>]>([
    ['it has the finalizer', { finalizers: [FINALIZER] }],
    ['it has an execution', { owner }],
    ['another deployer serves its type', { spec: { type: 'example.com/theirs' } }],
  ])('has no run if %s', async (_, overrides) => {
    await journalObjects(test, [{ uid: 'a', version: 1, ...overrides }])
    await listExecutions()
    expect(await resolve(await storeWake(test, 'a'))).toMatchObject({ to: 'nothing' })
  })
})

describe('a run of a previous release with the old format of workflow IDs', () => {
  const workflow_id = `execution/u7/${JOB}`
  const at = { cluster: 'c', namespace: 'ns', name: 'shop', cause: 'test', started_at: new Date() }
  const open = async () =>
    await openJob(test.db, { ...at, workflow_id, run_id: 'r', controller: 'execution', uid: 'u7', job_id: JOB })
  const unfinished = { uid: 'u7', name: 'shop', version: 1, status: { jobID: JOB } }
  const change = async (version: number, status: object, writer?: string) => {
    const events = [seen('MODIFIED', { ...unfinished, version, status }, executionKind)]
    const origin = { cluster: 'c', source: 'write' as const, ...(writer !== undefined && { writer }) }
    await journalEvents(test.db, { ...origin, events }, { ...deps, ...builtInRegistry })
  }
  const wakes = async () => await test.db.selectFrom('wake').selectAll().execute()

  it('is woken through its row, and not by its own writes', async () => {
    await open()
    await change(1, { jobID: JOB, phase: 'Init' }, workflow_id)
    expect(await wakes()).toEqual([])
    await change(2, { jobID: JOB, phase: 'Progressing' })
    const [wake] = await wakes()
    expect(await resolve(wake!)).toMatchObject({ to: 'open', job: { workflow_id } })
  })

  it('closes its row with its final write', async () => {
    await open()
    await change(1, { jobID: JOB, jobIDFinished: JOB, phase: 'Failed' }, workflow_id)
    expect(await test.db.selectFrom('job').select('outcome').execute()).toEqual([{ outcome: 'Failed' }])
  })

  it('continues under the new ID if Temporal has lost it', async () => {
    await open()
    await change(1, { jobID: JOB, phase: 'Init' })
    await recordLostJob(test.db, (await findOpenJob(test.db, 'execution', 'u7'))!, new Date())
    const [wake] = await wakes()
    const run = { workflowID: `execution/ns/shop/u7/${JOB}` }
    expect(await resolve(wake!)).toMatchObject({ to: 'start', run })
  })
})

describe('the dispatcher', () => {
  const dispatch = async (
    until: () => Promise<boolean>,
    { client = temporal(), ...deps }: Partial<DispatcherDeps> = {},
  ): Promise<void> => {
    const dispatcher = createDispatcher(test, client, deps)
    const running = dispatcher.run()
    await expect.poll(until, { timeout: 30_000 }).toBe(true)
    dispatcher.stop()
    await running
  }
  const isQuiet = async () => (await test.db.selectFrom('wake').select('uid').execute()).length === 0

  it('stays ready and continues with other subjects if no run can be started for one subject', async () => {
    const [poisonous, healthy] = [randomUUID(), randomUUID()]
    for (const uid of [poisonous, healthy]) {
      await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
      await storeWake(test, uid)
    }
    // Temporal rejects workflow IDs of this length.
    const client = temporal()
    const start = client.workflow.start.bind(client.workflow)
    client.workflow.start = (async (...[type, options]: Parameters<typeof start>) => {
      const { workflowId } = options
      return await start(type, {
        ...options,
        workflowId: workflowId.includes(poisonous) ? 'x'.repeat(1200) : workflowId,
      })
    }) as typeof start
    const reported: unknown[] = []
    const report = (_: string, error: unknown) => {
      if (error !== undefined) reported.push(error)
    }
    const left = async () => await test.db.selectFrom('wake').select('uid').where('lease_until', 'is', null).execute()
    await dispatch(async () => JSON.stringify(await left()) === JSON.stringify([{ uid: poisonous }]), {
      report,
      client,
    })
    expect(reported).toEqual([])
    expect(await findOpenJob(test.db, 'deploy', healthy)).toBeDefined()
    await temporal().workflow.getHandle(`deploy/ns/task-${healthy}/${healthy}/${JOB}`).terminate()
  })

  it('opens the row of a run in level mode before it signals the run', async () => {
    const uid = randomUUID()
    await journalObjects(test, [{ uid, version: 1 }])
    const target = { apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', plural: 'deployitems' }
    const registry = createRegistry([defineLevel({ name: 'shop', target, queries: {}, plan: nop })])
    const start = async () => await dispatch(isQuiet, { registry })
    const run = async () => await findOpenJob(test.db, 'shop', uid)

    await storeWake(test, uid, { controller: 'shop' })
    await start()
    const started = await run()
    const workflow_id = `shop/ns/task-${uid}/${uid}`
    expect(started).toMatchObject({ workflow_id, job_id: '' })
    // The run closes its row, but is still open in Temporal.
    await endJob(test.db, workflow_id, new Date())
    await storeWake(test, uid, { controller: 'shop' })
    await start()
    expect(await run()).toMatchObject({ workflow_id, run_id: null })
    const handle = temporal().workflow.getHandle(workflow_id)
    const { events } = await handle.fetchHistory()
    expect((events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null)).toHaveLength(1)
    // After its end, the next run has the same workflow ID.
    await handle.terminate()
    await storeWake(test, uid, { controller: 'shop' })
    await start()
    expect((await run())?.run_id).not.toBe(started?.run_id)
    await temporal().workflow.getHandle(workflow_id).terminate()
  })

  it('restarts a run that Temporal has lost, also for a wake that may not start runs', async () => {
    const uid = randomUUID()
    const workflow_id = `deploy/ns/task-${uid}/${uid}/${JOB}`
    const at = { cluster: 'c', namespace: 'ns', name: 'e', cause: 'test', started_at: new Date() }
    await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
    await openJob(test.db, { ...at, workflow_id, run_id: '0', controller: 'deploy', uid, job_id: JOB })
    await storeWake(test, uid, { job_id: JOB, may_start: false })
    const row = async () => await findOpenJob(test.db, 'deploy', uid)
    await dispatch(async () => ![undefined, '0'].includes((await row())?.run_id ?? undefined) && (await isQuiet()))
    expect(await row()).toMatchObject({ workflow_id, outcome: null })
    await temporal().workflow.getHandle(workflow_id).terminate()
  })

  it('restarts a terminated run only while its object requests the job', async () => {
    const uid = randomUUID()
    const workflow_id = `deploy/ns/task-${uid}/${uid}/${JOB}`
    const client = temporal()
    const runs = async () => {
      await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
      await storeWake(test, uid)
      await dispatch(isQuiet)
      expect(await findOpenJob(test.db, 'deploy', uid)).toMatchObject({ workflow_id })
      const { runId, staticDetails } = await client.workflow.getHandle(workflow_id).describe()
      expect(await staticDetails()).toContain(`pawl replay deployitem/task-${uid} ${JOB} -n ns`)
      return runId
    }
    const first = await runs()
    expect(first).toBeTypeOf('string')
    await client.workflow.getHandle(workflow_id).terminate()
    await test.db.deleteFrom('job').execute()
    // The job is unfinished.
    const second = await runs()
    expect([first, undefined]).not.toContain(second)
    await client.workflow.getHandle(workflow_id).terminate()
    await test.db.deleteFrom('job').execute()
    const wake = await storeWake(test, uid)
    const known = await resolve(wake)
    expect(known).toMatchObject({ to: 'start', run: { workflowID: workflow_id } })
    if (known.to !== 'start') return
    // A wake from before the end of the job.
    const options = { taskQueue: 'none', controllers: undefined, workflowTaskTimeoutMs: 10_000 }
    expect(await startRun(client, known.run, options, false)).toEqual({ answer: 'ended' })
  })

  it('keeps the outcome of an ended run if the journal learns of another job meanwhile', async () => {
    const uid = randomUUID()
    const workflow_id = `deploy/ns/task-${uid}/${uid}/${JOB}`
    const next = randomUUID()
    const client = temporal()
    await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
    await storeWake(test, uid)
    await dispatch(isQuiet)
    await client.workflow.getHandle(workflow_id).terminate()
    await test.db.updateTable('job').set({ outcome: 'Superseded', finished_at: new Date() }).execute()
    await storeWake(test, uid, { cause: 'run ended: Superseded' })
    const start = client.workflow.start.bind(client.workflow)
    client.workflow.start = (async (...args: Parameters<typeof start>) => {
      await journalObjects(test, [{ uid, version: 2, status: { jobID: next } }])
      return await start(...args)
    }) as typeof start
    await dispatch(isQuiet, { client })
    const rows = await test.db.selectFrom('job').select(['job_id', 'outcome']).orderBy('started_at').execute()
    expect(rows).toEqual([
      { job_id: JOB, outcome: 'Superseded' },
      { job_id: next, outcome: null },
    ])
    await client.workflow.getHandle(`deploy/ns/task-${uid}/${uid}/${next}`).terminate()
  })

  it('does not open the row of a run after its lease has expired', async () => {
    const uid = randomUUID()
    await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
    await storeWake(test, uid)
    const client = temporal()
    const start = client.workflow.start.bind(client.workflow)
    let stoppedMs = 0
    client.workflow.start = (async (...args: Parameters<typeof start>) => {
      const handle = await start(...args)
      stoppedMs = 6000
      return handle
    }) as typeof start
    const row = async () => await findOpenJob(test.db, 'deploy', uid)
    await dispatch(async () => (await row()) !== undefined && (await isQuiet()), {
      client,
      now: () => new Date(Date.now() + stoppedMs),
    })
    // The next delivery finds the run open.
    const workflow_id = `deploy/ns/task-${uid}/${uid}/${JOB}`
    expect(await row()).toMatchObject({ workflow_id, run_id: null })
    await client.workflow.getHandle(workflow_id).terminate()
  })

  it('postpones a wake of an in-flight run until its next pass, without a signal', async () => {
    const workflow_id = `execution/u9/${JOB}`
    const at = { cluster: 'c', namespace: 'ns', name: 'u9', cause: 'test', started_at: new Date() }
    await openJob(test.db, { ...at, workflow_id, run_id: 'r', controller: 'execution', uid: 'u9', job_id: JOB })
    await storeWake(test, 'u9', { controller: 'execution' })
    // A pass counts as in flight for two seconds.
    const looked = new Date()
    const inFlightRuns = new InFlightRuns(() => looked)
    const look = async () => {
      inFlightRuns.passStarted(workflow_id)
      await countPasses(test.db, [{ workflowID: workflow_id, runID: 'r' }], new Date())
    }
    await look()
    const before = looked.getTime()
    const isPutOff = async () => {
      const { lease_until, due } = await test.db.selectFrom('wake').selectAll().executeTakeFirstOrThrow()
      return lease_until === null && due.getTime() >= before + 2000
    }
    await dispatch(isPutOff, { inFlightRuns })
    expect(inFlightRuns.passSettled(workflow_id).woken).toBe(true)
    await look()
    expect(inFlightRuns.passSettled(workflow_id).woken).toBe(false)
    await dispatch(isQuiet, { inFlightRuns })
    // A signal would have failed, because Temporal has no such run.
    expect(await findOpenJob(test.db, 'execution', 'u9')).toMatchObject({ outcome: null })
  })
})
