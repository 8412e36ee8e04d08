import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { journalEvents, journalWrites, reduceWrites } from '../../activities/journal/write/events.ts'
import { jobsToLookUp, resyncWakes } from '../../activities/journal/write/resync.ts'
import { claimWakes, type NewWake, nextWakeDue, upsertWakes } from '../../activities/journal/write/wakes.ts'
import { partitionShares, excludedPartitions } from '../../worker/reconciler/task-queues.ts'
import { directLookups, watchedKindKeys, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { FINALIZER } from '../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { deps, later, NOW, seen, type TaskOptions } from '../activities/journal/build-events.ts'
import { findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { createDispatcher, JOB, silentLog, useTemporal, wakeRow } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const MOCK = 'landscaper.gardener.cloud/mock'
const MANIFEST = 'landscaper.gardener.cloud/kubernetes-manifest'
const RUNNING = { jobID: JOB }
const ignored = { ...deps, route: () => ({ ignored: 'set-up' }) }
const shares = (deployers: string) => partitionShares(builtInRegistry.controllers.values(), { deployers })

const item = (uid: string, type: string, more: Partial<TaskOptions> = {}): TaskOptions => ({
  uid,
  version: 9,
  spec: { type },
  finalizers: [FINALIZER],
  owner: { uid: 'exec', kind: 'Execution', apiVersion: executionKind.apiVersion },
  ...more,
})

async function know(...items: TaskOptions[]): Promise<void> {
  const owner = { uid: 'inst', kind: 'Installation', apiVersion: installationKind.apiVersion }
  const events = [
    seen('ADDED', { uid: 'inst', version: 1, status: RUNNING, finalizers: [FINALIZER] }, installationKind),
    seen('ADDED', { uid: 'exec', version: 2, status: RUNNING, finalizers: [FINALIZER], owner }, executionKind),
    ...items.map((one) => seen('ADDED', one, deployItemKind)),
  ]
  await journalEvents(test.db, { cluster: 'c', source: 'watch', events }, ignored)
}

/** The open run of the Installation. */
async function hostServing(serves: readonly string[] | null): Promise<string> {
  const workflow_id = `installation/ns/task-inst/inst/${JOB}`
  await openJob(test.db, {
    workflow_id,
    run_id: 'r',
    controller: 'installation',
    cluster: 'c',
    uid: 'inst',
    job_id: JOB,
    serves,
    namespace: 'ns',
    name: 'task-inst',
    cause: 'test',
    started_at: NOW,
  })
  return workflow_id
}

const wakeFor = (uid: string, overrides: Partial<NewWake> = {}) => wakeRow(uid, { due: NOW, ...overrides })

describe('wakes of items', () => {
  const claim = async (deployers?: string) => {
    const unhandledPartitions = deployers === undefined ? [] : excludedPartitions(shares(deployers))
    const from = { cluster: 'c', unhandledPartitions, owner: 'd', limit: 9, leaseMs: 1000, now: NOW }
    return (await claimWakes(test.db, from)).map(({ uid }) => uid).sort()
  }

  it('are claimed by workers that handle their types; wakes of other types and controllers by any worker', async () => {
    await know(item('a', MOCK), item('b', MANIFEST), item('c', 'example.com/theirs'))
    const wakes = [...['a', 'b', 'c', 'unknown'].map((uid) => wakeFor(uid)), wakeFor('b', { controller: 'other' })]
    await upsertWakes(test.db, wakes, NOW)
    expect(await claim('mock')).toEqual(['a', 'b', 'c', 'unknown'])
    expect(await test.db.selectFrom('wake').select('controller').where('lease_owner', 'is', null).execute()).toEqual([
      { controller: 'deploy' },
    ])
    expect(await claim('mock')).toEqual([])
    expect(await claim('kubernetes-manifest')).toEqual(['b'])
  })

  it('are claimed for all types by a worker without the flag, or with all types', async () => {
    for (const deployers of [undefined, 'mock,kubernetes-manifest']) {
      await test.db.deleteFrom('wake').execute()
      await test.db.deleteFrom('object').execute()
      await know(item('a', MOCK), item('b', MANIFEST))
      await upsertWakes(test.db, [wakeFor('a'), wakeFor('b')], NOW)
      expect(await claim(deployers)).toEqual(['a', 'b'])
    }
  })

  it('let a worker sleep until a wake of its types is due', async () => {
    await know(item('a', MOCK), item('b', MANIFEST))
    await upsertWakes(test.db, [wakeFor('a'), wakeFor('b', { due: later(500) })], NOW)
    const due = async (deployers: string) => {
      return await nextWakeDue(test.db, { cluster: 'c', unhandledPartitions: excludedPartitions(shares(deployers)) })
    }
    expect(await due('kubernetes-manifest')).toEqual(later(500))
    expect(await due('mock')).toEqual(NOW)
  })

  it('do not delay the check of a run that another worker could start', async () => {
    await know(item('a', MOCK), item('b', MANIFEST))
    for (const uid of ['a', 'b'])
      await openJob(test.db, {
        workflow_id: `deploy/${uid}`,
        run_id: 'r',
        controller: 'deploy',
        cluster: 'c',
        uid,
        job_id: JOB,
        namespace: 'ns',
        name: uid,
        cause: 'test',
        started_at: NOW,
      })
    const found = await jobsToLookUp(
      test.db,
      { cluster: 'c', unhandledPartitions: excludedPartitions(shares('mock')) },
      later(90_000),
    )
    expect(found.map(({ uid }) => uid)).toEqual(['a'])
  })
})

describe('an item that has the job of its Installation', () => {
  const resolve = async (uid: string) => {
    await upsertWakes(test.db, [wakeFor(uid)], NOW)
    const wake = await test.db.selectFrom('wake').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
    return await resolveWake(wake, directLookups(test.db))
  }

  it('is hosted if the open run handles its type, and is a root otherwise', async () => {
    await know(item('a', MOCK, { status: RUNNING }), item('b', MANIFEST, { status: RUNNING }))
    const workflow_id = await hostServing([MOCK])
    expect(await resolve('a')).toMatchObject({ to: 'open', job: { workflow_id, serves: [MOCK] } })
    expect(await resolve('b')).toMatchObject({
      to: 'start',
      run: { controller: 'deploy', lane: MANIFEST, input: { jobID: JOB, subject: { uid: 'b' } } },
    })
  })

  it('is hosted if the open run handles all types, or no run is open', async () => {
    await know(item('b', MANIFEST, { status: RUNNING }))
    expect(await resolve('b')).toMatchObject({ to: 'start', run: { controller: 'installation' } })
    const workflow_id = await hostServing(null)
    expect(await resolve('b')).toMatchObject({ to: 'open', job: { workflow_id } })
  })

  it("is not a root because of the types of another job's run", async () => {
    await know(item('b', MANIFEST, { status: RUNNING }))
    const workflow_id = await hostServing([MOCK])
    await test.db.updateTable('job').set({ outcome: 'lost' }).execute()
    expect(await resolve('b')).toMatchObject({ to: 'start', run: { controller: 'installation' } })
    await test.db.updateTable('job').set({ outcome: null, job_id: 'another' }).execute()
    expect(await resolve('b')).toMatchObject({ to: 'open', job: { workflow_id } })
  })

  it('is found by the resync without an event', async () => {
    await know(item('a', MOCK, { status: RUNNING }), item('b', MANIFEST, { status: RUNNING }))
    await hostServing([MOCK])
    const controllers = [builtInRegistry.controllers.get('deploy')!]
    const { subjectKinds } = builtInRegistry
    await resyncWakes(test.db, {
      cluster: 'c',
      now: NOW,
      controllers,
      subjectKinds,
      watchedKinds: watchedKindKeys(builtInRegistry),
    })
    expect((await test.wakes()).map(({ uid, cause }) => [uid, cause])).toEqual([
      ['b', 'sweep: unfinished job without a run'],
    ])
  })
})

describe('a run that hands its job down to an item', () => {
  const handDown = async (serves: readonly string[] | null, type: string) => {
    await know(item('a', type))
    const writer = await hostServing(serves)
    const event = seen('MODIFIED', item('a', type, { version: 10, status: RUNNING }), deployItemKind)
    const events = [{ event, conflicted: false }]
    const routing = { ...deps, ...builtInRegistry }
    const told = reduceWrites({ writer, tree: ['inst', 'exec'], events, finished: [] }, routing)
    await journalWrites(test.db, 'c', [told], routing)
    return (await test.wakes()).map(({ controller, uid, foreign_event }) => ({ controller, uid, foreign_event }))
  }

  it('wakes the item if the run does not handle its type', async () => {
    expect(await handDown([MOCK], MANIFEST)).toEqual([{ controller: 'deploy', uid: 'a', foreign_event: true }])
  })

  it.each([
    ['serves it', [MANIFEST]],
    ['serves all', null],
  ])('wakes no object of its tree if it %s', async (_, serves) => {
    expect(await handDown(serves, MANIFEST)).toEqual([])
  })
})

describe('the dispatcher of a worker with selected types', () => {
  const dispatch = async (
    controllers: readonly string[] | undefined,
    taskQueue: string,
    until: () => Promise<boolean>,
    deployers: string | undefined = 'mock',
  ) => {
    const at = { taskQueue, controllers, shares: deployers === '' ? [] : shares(deployers) }
    const dispatcher = createDispatcher(test, temporal(), {}, at)
    const running = dispatcher.run()
    await expect.poll(until, { timeout: 30_000 }).toBe(true)
    dispatcher.stop()
    await running
  }
  const describeRun = async (workflowID: string) => {
    const handle = temporal().workflow.getHandle(workflowID)
    const { taskQueue } = await handle.describe()
    const { events } = await handle.fetchHistory()
    const payloads = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
    await handle.terminate()
    return { taskQueue, input: JSON.parse(Buffer.from(payloads[0]?.data ?? '').toString()) as object }
  }
  const isOpen = async (controller: string, uid: string) =>
    (await findOpenJob(test.db, controller, uid)) !== undefined && (await test.wakes()).length === 0

  it('starts the run of an Installation with its types in input, row and queue', async () => {
    const taskQueue = `q-${randomUUID()}`
    await know(item('a', MOCK, { status: RUNNING }))
    await upsertWakes(test.db, [wakeFor('inst', { controller: 'installation', name: 'task-inst' })], NOW)
    await dispatch(['installation'], taskQueue, () => isOpen('installation', 'inst'))
    const row = await findOpenJob(test.db, 'installation', 'inst')
    expect(row).toMatchObject({ serves: [MOCK] })
    const run = await describeRun(row?.workflow_id ?? '')
    expect(run).toMatchObject({ taskQueue: `${taskQueue}-installation-mock`, input: { jobID: JOB, serves: [MOCK] } })
  })

  it('starts the run of an item on the queue of its type, with the usual input', async () => {
    const taskQueue = `q-${randomUUID()}`
    const uid = randomUUID()
    await know(item(uid, MOCK, { status: RUNNING }))
    await hostServing([MANIFEST])
    await upsertWakes(test.db, [wakeFor(uid)], NOW)
    await dispatch(['deploy'], taskQueue, () => isOpen('deploy', uid))
    const row = await findOpenJob(test.db, 'deploy', uid)
    expect(row).toMatchObject({ serves: null })
    const run = await describeRun(row?.workflow_id ?? '')
    expect(run.taskQueue).toBe(`${taskQueue}-deploy-mock`)
    expect(Object.keys(run.input).sort()).toEqual(['cause', 'jobID', 'subject'])
  })

  it.each([
    { who: 'serves all', deployers: '', controllers: undefined, serves: [MOCK], queue: '' },
    {
      who: 'serves more',
      deployers: 'mock,kubernetes-manifest',
      controllers: ['installation'],
      serves: [MOCK],
      queue: '-installation-kubernetes-manifest+mock',
    },
    {
      who: 'serves others',
      deployers: 'kubernetes-manifest',
      controllers: ['installation'],
      serves: [MANIFEST],
      queue: '-installation-kubernetes-manifest',
    },
  ])('restarts a job with its previous types if it can: it $who', async (given) => {
    const { deployers, controllers, serves, queue } = given
    const [first, second] = [`q-${randomUUID()}`, `q-${randomUUID()}`]
    const uid = randomUUID()
    const installation = { uid, version: 1, status: RUNNING, finalizers: [FINALIZER] }
    const event = seen('ADDED', installation, installationKind)
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [event] }, ignored)
    const wake = wakeFor(uid, { controller: 'installation' })
    await upsertWakes(test.db, [wake], NOW)
    await dispatch(['installation'], first, () => isOpen('installation', uid))
    const row = await findOpenJob(test.db, 'installation', uid)
    await temporal()
      .workflow.getHandle(row?.workflow_id ?? '')
      .terminate()
    await test.db.updateTable('job').set({ outcome: 'lost' }).execute()
    await test.db.deleteFrom('wake').execute()
    await upsertWakes(test.db, [wake], NOW)
    await dispatch(controllers, second, () => isOpen('installation', uid), deployers)
    expect(await findOpenJob(test.db, 'installation', uid)).toMatchObject({ serves })
    const run = await describeRun(row?.workflow_id ?? '')
    expect(run).toMatchObject({ taskQueue: `${second}${queue}`, input: { jobID: JOB, serves } })
  })

  it('leaves the start of a host’s run to workers of its controller', async () => {
    await know(item('a', MOCK, { status: RUNNING }))
    await upsertWakes(test.db, [wakeFor('a')], NOW)
    const wakes = async () => (await test.wakes()).map(({ controller, uid }) => `${controller} ${uid}`)
    await dispatch(['deploy'], 'q', async () => (await wakes()).join() === 'installation inst')
    expect(await test.db.selectFrom('job').select('uid').execute()).toEqual([])
  })
})

describe('an open run of an item without a recent pass', () => {
  const left = { outcomes: [null], status: 'RUNNING' }
  const sweep = async (runs: string, deployers: string | undefined) => {
    await know(item('a', MOCK, { status: RUNNING }))
    const workflowId = `deploy/${randomUUID()}`
    const handle = await temporal().workflow.start('deploy', { workflowId, taskQueue: runs, args: [] })
    await openJob(test.db, {
      workflow_id: workflowId,
      run_id: handle.firstExecutionRunId,
      controller: 'deploy',
      cluster: 'c',
      uid: 'a',
      job_id: JOB,
      namespace: 'ns',
      name: 'a',
      cause: 'test',
      started_at: new Date(Date.now() - 600_000),
    })
    const at =
      deployers === undefined ? { controllers: undefined } : { controllers: ['deploy'], shares: shares(deployers) }
    await resyncOnce(
      { db: test.db, client: temporal(), log: silentLog, now: () => new Date() },
      { cluster: 'c', taskQueue: 'q', ...at },
    )
    const jobs = await test.db.selectFrom('job').select('outcome').execute()
    const status = (await handle.describe()).status.name
    if (status === 'RUNNING') await handle.terminate()
    return { outcomes: jobs.map(({ outcome }) => outcome), status }
  }

  it('stays open on the queue of its type', async () => {
    expect(await sweep('q-deploy-mock', 'mock')).toEqual(left)
  })

  it('stays open on any queue if this worker does not handle its type', async () => {
    expect(await sweep(`q-${randomUUID()}`, 'kubernetes-manifest')).toEqual(left)
  })

  it('is restarted by a worker of its type if no worker polls its queue', async () => {
    const ended = { outcomes: ['lost'], status: 'TERMINATED' }
    expect(await sweep(`q-${randomUUID()}`, 'mock')).toEqual(ended)
    await test.db.deleteFrom('job').execute()
    await test.db.deleteFrom('object').execute()
    expect(await sweep(`q-${randomUUID()}-deploy-mock`, undefined)).toEqual(ended)
  })
})
