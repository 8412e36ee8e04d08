// Items of partitions (types of deploy items) that not every worker handles: against a real PostgreSQL and a real
// Temporal. No worker runs.

import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { journalWrites, reduceWrites } from '../../activities/journal/write/events.ts'
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
import { job } from '../activities/journal/build-job.ts'
import { findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { createDispatcher, endAfterTest, JOB, silentLog, storeWake, useTemporal, wakeRow } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const MOCK = 'landscaper.gardener.cloud/mock'
const MANIFEST = 'landscaper.gardener.cloud/kubernetes-manifest'
const RUNNING = { jobID: JOB }
const shares = (deployers: string) => partitionShares(builtInRegistry.controllers.values(), { deployers })

const item = (uid: string, type: string, more: Partial<TaskOptions> = {}): TaskOptions => ({
  uid,
  version: 9,
  spec: { type },
  finalizers: [FINALIZER],
  owner: { uid: 'exec', kind: 'Execution', apiVersion: executionKind.apiVersion },
  ...more,
})
const running = (uid: string, type: string) => item(uid, type, { status: RUNNING })

async function know(...items: TaskOptions[]): Promise<void> {
  const owner = { uid: 'inst', kind: 'Installation', apiVersion: installationKind.apiVersion }
  await test.know(
    seen('ADDED', { uid: 'inst', version: 1, status: RUNNING, finalizers: [FINALIZER] }, installationKind),
    seen('ADDED', { uid: 'exec', version: 2, status: RUNNING, finalizers: [FINALIZER], owner }, executionKind),
    ...items.map((one) => seen('ADDED', one, deployItemKind)),
  )
}

const openDeploy = async (uid: string, overrides: Parameters<typeof job>[0] = {}) =>
  await openJob(test.db, job({ workflow_id: `deploy/${uid}`, controller: 'deploy', uid, job_id: JOB, ...overrides }))

/** The open run of the Installation. */
async function hostServing(serves: readonly string[] | null): Promise<string> {
  const workflow_id = `installation/ns/task-inst/inst/${JOB}`
  const of = { controller: 'installation', uid: 'inst', name: 'task-inst', job_id: JOB }
  await openJob(test.db, job({ workflow_id, ...of, serves }))
  return workflow_id
}

const wakeFor = (uid: string, overrides: Partial<NewWake> = {}) => wakeRow(uid, { due: NOW, ...overrides })
const store = async (...wakes: readonly NewWake[]) => await upsertWakes(test.db, wakes, NOW)

describe('wakes of items', () => {
  const unhandled = (deployers?: string) => ({
    cluster: 'c',
    unhandledPartitions: deployers === undefined ? [] : excludedPartitions(shares(deployers)),
  })
  const claim = async (deployers?: string) => {
    const from = { ...unhandled(deployers), owner: 'd', limit: 9, leaseMs: 1000, now: NOW }
    return (await claimWakes(test.db, from)).map(({ uid }) => uid).sort()
  }

  it('are claimed by workers that handle their types; wakes of other types and controllers by any worker', async () => {
    await know(item('a', MOCK), item('b', MANIFEST), item('c', 'example.com/theirs'))
    await store(...['a', 'b', 'c', 'unknown'].map((uid) => wakeFor(uid)), wakeFor('b', { controller: 'other' }))
    expect(await claim('mock')).toEqual(['a', 'b', 'c', 'unknown'])
    expect((await test.wakes()).flatMap((wake) => (wake.lease_owner === null ? wake.controller : []))).toEqual([
      'deploy',
    ])
    expect(await claim('mock')).toEqual([])
    expect(await claim('kubernetes-manifest')).toEqual(['b'])
  })

  it.each([undefined, 'mock,kubernetes-manifest'])('are claimed for all types by a worker of %s', async (deployers) => {
    await know(item('a', MOCK), item('b', MANIFEST))
    await store(wakeFor('a'), wakeFor('b'))
    expect(await claim(deployers)).toEqual(['a', 'b'])
  })

  it('let a worker sleep until a wake of its types is due, and look up only runs that it could start', async () => {
    await know(item('a', MOCK), item('b', MANIFEST))
    await store(wakeFor('a'), wakeFor('b', { due: later(500) }))
    expect(await nextWakeDue(test.db, unhandled('kubernetes-manifest'))).toEqual(later(500))
    expect(await nextWakeDue(test.db, unhandled('mock'))).toEqual(NOW)
    for (const uid of ['a', 'b']) await openDeploy(uid)
    expect((await jobsToLookUp(test.db, unhandled('mock'), later(90_000))).map(({ uid }) => uid)).toEqual(['a'])
  })
})

describe('an item that has the job of its Installation', () => {
  const resolve = async (uid: string) => await resolveWake(await storeWake(test, uid), directLookups(test.db))
  const ofInstallation = { to: 'start', run: { controller: 'installation' } }

  it('is hosted if the open run handles its type, and is a root, which the resync finds, otherwise', async () => {
    await know(running('a', MOCK), running('b', MANIFEST))
    const workflow_id = await hostServing([MOCK])
    await resyncWakes(test.db, {
      cluster: 'c',
      now: NOW,
      controllers: [builtInRegistry.controllers.get('deploy')!],
      subjectKinds: builtInRegistry.subjectKinds,
      watchedKinds: watchedKindKeys(builtInRegistry),
    })
    expect((await test.wakes()).map(({ uid, cause }) => [uid, cause])).toEqual([
      ['b', 'sweep: unfinished job without a run'],
    ])
    expect(await resolve('a')).toMatchObject({ to: 'open', job: { workflow_id, serves: [MOCK] } })
    const input = { jobID: JOB, subject: { uid: 'b' } }
    expect(await resolve('b')).toMatchObject({ to: 'start', run: { controller: 'deploy', lane: MANIFEST, input } })
  })

  it("is hosted if no run is open, or by a run of all types, and is not a root because of another job's run", async () => {
    await know(running('b', MANIFEST))
    expect(await resolve('b')).toMatchObject(ofInstallation)
    const workflow_id = await hostServing([MOCK])
    const hosting = { to: 'open', job: { workflow_id } }
    for (const [change, expected] of [
      [{ outcome: 'lost' }, ofInstallation],
      [{ outcome: null, job_id: 'another' }, hosting],
      [{ job_id: JOB, serves: null }, hosting],
    ] as const) {
      await test.db.updateTable('job').set(change).execute()
      expect(await resolve('b')).toMatchObject(expected)
    }
  })
})

describe('a run that hands its job down to an item', () => {
  it.each([
    ['wakes the item if the run does not handle its type', [MOCK], [['deploy', 'a', true]]],
    ['wakes no object of its tree if it handles the type', [MANIFEST], []],
    ['wakes no object of its tree if it handles all types', null, []],
  ])('%s', async (_, serves, expected) => {
    await know(item('a', MANIFEST))
    const writer = await hostServing(serves)
    const event = seen('MODIFIED', { ...running('a', MANIFEST), version: 10 }, deployItemKind)
    const routing = { ...deps, ...builtInRegistry }
    const answers = { writer, tree: ['inst', 'exec'], events: [{ event, conflicted: false }], finished: [] }
    await journalWrites(test.db, 'c', [reduceWrites(answers, routing)], routing)
    const woken = (await test.wakes()).map(({ controller, uid, foreign_event }) => [controller, uid, foreign_event])
    expect(woken).toEqual(expected)
  })
})

describe('the dispatcher of a worker with selected types', () => {
  const dispatch = async (
    controllers: readonly string[] | undefined,
    taskQueue: string,
    until: () => Promise<boolean>,
    deployers = 'mock',
  ) => {
    const at = { taskQueue, controllers, shares: deployers === '' ? [] : shares(deployers) }
    const dispatcher = createDispatcher(test, temporal(), {}, at)
    const running = dispatcher.run()
    await expect.poll(until, { timeout: 30_000 }).toBe(true)
    dispatcher.stop()
    await running
  }
  /** The row, task queue and input of the open run, which is terminated. */
  const describeRun = async (controller: string, uid: string) => {
    const row = await findOpenJob(test.db, controller, uid)
    const handle = endAfterTest(temporal(), row?.workflow_id ?? '')
    const { taskQueue } = await handle.describe()
    const { events } = await handle.fetchHistory()
    const payloads = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
    const input = JSON.parse(Buffer.from(payloads[0]?.data ?? '').toString()) as object
    return { serves: row?.serves, taskQueue, input, handle }
  }
  const isOpen = (controller: string, uid: string) => async () =>
    (await findOpenJob(test.db, controller, uid)) !== undefined && (await test.wakes()).length === 0

  it('starts the run of an item on the queue of its type, with the usual input', async () => {
    const taskQueue = `q-${randomUUID()}`
    const uid = randomUUID()
    await know(running(uid, MOCK))
    await hostServing([MANIFEST])
    await store(wakeFor(uid))
    await dispatch(['deploy'], taskQueue, isOpen('deploy', uid))
    const run = await describeRun('deploy', uid)
    expect(run).toMatchObject({ serves: null, taskQueue: `${taskQueue}-deploy-mock` })
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
  ])('starts a job with its types, and restarts it with its previous types if it can: it $who', async (given) => {
    const { deployers, controllers, serves, queue } = given
    const [first, second] = [`q-${randomUUID()}`, `q-${randomUUID()}`]
    const uid = randomUUID()
    await test.know(seen('ADDED', { uid, version: 1, status: RUNNING, finalizers: [FINALIZER] }, installationKind))
    const wake = wakeFor(uid, { controller: 'installation' })
    await store(wake)
    await dispatch(['installation'], first, isOpen('installation', uid))
    const { handle, ...started } = await describeRun('installation', uid)
    expect(started).toMatchObject({ serves: [MOCK], input: { jobID: JOB, serves: [MOCK] } })
    expect(started.taskQueue).toBe(`${first}-installation-mock`)
    await handle.terminate()
    await test.db.updateTable('job').set({ outcome: 'lost' }).execute()
    await store(wake)
    await dispatch(controllers, second, isOpen('installation', uid), deployers)
    const restarted = await describeRun('installation', uid)
    expect(restarted).toMatchObject({ serves, taskQueue: `${second}${queue}`, input: { jobID: JOB, serves } })
  })

  it('leaves the start of a host’s run to workers of its controller', async () => {
    await know(running('a', MOCK))
    await store(wakeFor('a'))
    const wakes = async () => (await test.wakes()).map(({ controller, uid }) => `${controller} ${uid}`)
    await dispatch(['deploy'], 'q', async () => (await wakes()).join() === 'installation inst')
    expect(await test.rows('job', 'uid')).toEqual([])
  })
})

describe('an open run of an item without a recent pass', () => {
  const ELSEWHERE = `q-${randomUUID()}`

  it.each([
    ['stays open on the queue of its type', 'q-deploy-mock', 'mock', 'RUNNING'],
    ['stays open on any queue if this worker does not handle its type', ELSEWHERE, 'kubernetes-manifest', 'RUNNING'],
    ['is restarted by a worker of its type if no worker polls its queue', ELSEWHERE, 'mock', 'TERMINATED'],
    ['is restarted by a worker of all types', `${ELSEWHERE}-deploy-mock`, undefined, 'TERMINATED'],
  ])('%s', async (_, taskQueue, deployers, status) => {
    await know(running('a', MOCK))
    const workflowId = `deploy/${randomUUID()}`
    const handle = endAfterTest(temporal(), workflowId)
    const { firstExecutionRunId } = await temporal().workflow.start('deploy', { workflowId, taskQueue, args: [] })
    const started_at = new Date(Date.now() - 600_000)
    await openDeploy('a', { workflow_id: workflowId, run_id: firstExecutionRunId, started_at })
    const at =
      deployers === undefined ? { controllers: undefined } : { controllers: ['deploy'], shares: shares(deployers) }
    await resyncOnce(
      { db: test.db, client: temporal(), log: silentLog, now: () => new Date() },
      { cluster: 'c', taskQueue: 'q', ...at },
    )
    expect(await test.rows('job', 'outcome')).toEqual([{ outcome: status === 'RUNNING' ? null : 'lost' }])
    expect((await handle.describe()).status.name).toBe(status)
  })
})
