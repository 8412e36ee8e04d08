// What becomes of a wake whose run ends, or is started, while the wake is brought to it: against a real PostgreSQL and a real Temporal. No worker runs.

import { Client, type WorkflowHandle } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { type NewWake, upsertWakes, type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import { createLogger } from '../../worker/server/log.ts'
import { WakeDelivery, type Delivery } from '../../worker/reconciler/deliver-wake.ts'
import { PendingRuns } from '../../worker/reconciler/capacity.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { defineLevel, nop, type WatchedKind } from '../../workflows/kit/index.ts'
import { deps, seen, type TaskOptions } from '../activities/journal/build-events.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
let connection: NativeConnection
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
})
afterAll(async () => {
  await connection.close()
})

const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'
const LEASE_MS = 60_000
const target = { apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', plural: 'deployitems' }
const withShop = createRegistry([defineLevel({ name: 'shop', target, queries: {}, plan: nop })])

/** As another process has it. */
function bringer({ client = new Client({ connection }), registry = builtInRegistry } = {}): WakeDelivery {
  const now = () => new Date()
  const inFlightRuns = new InFlightRuns(now)
  const log = createLogger('test', 'silent')
  return new WakeDelivery(
    { db: test.db, asyncCommitDb: test.db, client, log, now, inFlightRuns, registry },
    {
      cluster: 'c',
      slots: 5,
      leaseMs: LEASE_MS,
      controllers: undefined,
      workflowTaskTimeoutMs: 10_000,
      taskQueue: `none-${randomUUID()}`,
    },
    new PendingRuns({ inFlightRuns, findAdvancedRuns: async () => await Promise.resolve([]) }),
  )
}

/** Until the wake is done with. @throws what would be a warning of the dispatcher. */
async function bringToEnd(to: WakeDelivery, wake: Wake): Promise<Delivery> {
  for (;;) {
    const brought = await to.deliver(wake)
    if (brought.retryAt === undefined) return brought
    await sleep(Math.max(0, brought.retryAt.getTime() - Date.now()))
  }
}

async function know(kind: WatchedKind, options: TaskOptions): Promise<void> {
  const spec = { type: 'landscaper.gardener.cloud/mock' }
  const events = [seen('ADDED', { spec, ...options }, kind)]
  await journalEvents(
    test.db,
    { cluster: 'c', source: 'watch', events },
    { ...deps, route: () => ({ ignored: 'set-up' }) },
  )
}

async function wakeOf(uid: string, overrides: Partial<NewWake> = {}): Promise<Wake> {
  const wake = {
    controller: 'deploy',
    uid,
    job_id: '',
    cluster: 'c',
    namespace: 'ns',
    name: `task-${uid}`,
    seq: 1,
    due: new Date(),
    foreign_event: true,
    may_start: true,
    writer: null,
    cause: 'test',
    ...overrides,
  }
  await upsertWakes(test.db, [wake], wake.due)
  return await test.db.selectFrom('wake').selectAll().where('uid', '=', uid).executeTakeFirstOrThrow()
}

/** An unfinished item that nobody hosts. */
async function unfinished(): Promise<{ readonly wake: Wake; readonly workflowID: string }> {
  const uid = randomUUID()
  await know(deployItemKind, { uid, version: 1, status: { jobID: JOB } })
  const workflowID = `deploy/ns/task-${uid}/${uid}/${JOB}`
  endAfter(workflowID)
  return { wake: await wakeOf(uid), workflowID }
}

function endAfter(workflowID: string): void {
  onTestFinished(async () => {
    await handleOf(workflowID)
      .terminate()
      .catch(() => undefined)
  })
}

const handleOf = (workflowID: string): WorkflowHandle => new Client({ connection }).workflow.getHandle(workflowID)
const runOf = async (workflowID: string) => (await handleOf(workflowID).describe()).runId
const rows = async () => await test.db.selectFrom('job').select(['workflow_id', 'outcome', 'run_id']).execute()

/** Something happens before the first signal, and after it. */
function disturbing(before: () => Promise<void>, after = async () => await Promise.resolve()): Client {
  const client = new Client({ connection })
  const getHandle = client.workflow.getHandle.bind(client.workflow)
  let isFirst = true
  client.workflow.getHandle = ((...args: Parameters<typeof getHandle>) => {
    const handle = getHandle(...args)
    const signal = handle.signal.bind(handle)
    const disturbed = async (...with_: Parameters<typeof signal>) => {
      const isNow = isFirst
      isFirst = false
      if (isNow) await before()
      await signal(...with_).finally(isNow ? after : undefined)
    }
    return Object.assign(handle, { signal: disturbed })
  }) as typeof getHandle
  return client
}

/** Something happens in place of the first start. */
function starting(first: (start: Client['workflow']['start']) => Promise<never>): Client {
  const client = new Client({ connection })
  const start = client.workflow.start.bind(client.workflow)
  client.workflow.start = (async (...args: Parameters<typeof start>) => {
    client.workflow.start = start
    return await first((async () => await start(...args)) as typeof start)
  }) as typeof start
  return client
}

describe('a run that ends while it is signalled', () => {
  it('is started anew, when its object still asks for its job, though a start has just found it running', async () => {
    const { wake, workflowID } = await unfinished()
    await bringer().deliver(wake)
    const first = await runOf(workflowID)
    // Its row was lost with whoever started it.
    await test.db.deleteFrom('job').execute()
    const client = disturbing(async () => {
      await handleOf(workflowID).terminate()
    })
    expect(await bringToEnd(bringer({ client }), wake)).toMatchObject({ led: 'started' })
    const second = await runOf(workflowID)
    expect(second).not.toBe(first)
    expect(await rows()).toEqual([{ workflow_id: workflowID, outcome: null, run_id: second }])
  })

  it('is followed by the next one of its object, when it has closed its row', async () => {
    const uid = randomUUID()
    const workflowID = `shop/ns/task-${uid}/${uid}`
    endAfter(workflowID)
    await know(deployItemKind, { uid, version: 1 })
    const wake = await wakeOf(uid, { controller: 'shop' })
    await bringer({ registry: withShop }).deliver(wake)
    const first = await runOf(workflowID)
    const client = disturbing(async () => {
      await endJob(test.db, workflowID, new Date())
      await handleOf(workflowID).terminate()
    })
    expect(await bringToEnd(bringer({ client, registry: withShop }), wake)).toMatchObject({ led: 'started' })
    expect(await findOpenJob(test.db, 'shop', uid)).toMatchObject({ run_id: await runOf(workflowID) })
    expect(await runOf(workflowID)).not.toBe(first)
  })

  it('is followed by the one that another process has started meanwhile, which is signalled', async () => {
    const uid = randomUUID()
    const workflowID = `shop/ns/task-${uid}/${uid}`
    endAfter(workflowID)
    await know(deployItemKind, { uid, version: 1 })
    const wake = await wakeOf(uid, { controller: 'shop' })
    await bringer({ registry: withShop }).deliver(wake)
    await test.db.deleteFrom('job').execute()
    const others = bringer({ registry: withShop })
    const client = disturbing(
      async () => {
        await handleOf(workflowID).terminate()
      },
      async () => {
        await test.db.deleteFrom('job').execute()
        expect(await others.deliver(wake)).toMatchObject({ led: 'started' })
      },
    )
    expect(await bringToEnd(bringer({ client, registry: withShop }), wake)).toMatchObject({ led: 'signalled' })
    expect(await findOpenJob(test.db, 'shop', uid)).toMatchObject({ run_id: await runOf(workflowID) })
  })
})

describe('a run whose row is there before it is', () => {
  it('is started by the wake whose first start has failed, and never counts as lost', async () => {
    const { wake, workflowID } = await unfinished()
    const client = starting(() => Promise.reject(new Error('the store has timed out')))
    const own = bringer({ client })
    await expect(own.deliver(wake)).rejects.toThrow('the store has timed out')
    expect(await bringToEnd(own, wake)).toMatchObject({ led: 'started' })
    expect(await rows()).toEqual([{ workflow_id: workflowID, outcome: null, run_id: await runOf(workflowID) }])
    expect((await test.wakes()).map(({ cause }) => cause)).toEqual(['test'])
  })

  it('is waited for by other wakes while it is being started', async () => {
    const [uid, child] = [randomUUID(), randomUUID()]
    const workflowID = `execution/ns/task-${uid}/${uid}/${JOB}`
    endAfter(workflowID)
    await know(executionKind, { uid, version: 1, status: { jobID: JOB } })
    const owner = { uid, name: `task-${uid}`, kind: 'Execution', apiVersion: executionKind.apiVersion }
    await know(deployItemKind, { uid: child, version: 2, owner, status: { jobID: JOB } })
    const wake = await wakeOf(uid, { controller: 'execution' })
    const hosted = await wakeOf(child)
    let meanwhile: Delivery | undefined
    const client = starting(async (start) => {
      meanwhile = await bringer().deliver(hosted)
      return (await start('', { workflowId: '', taskQueue: '' })) as never
    })
    expect(await bringer({ client }).deliver(wake)).toMatchObject({ led: 'started' })
    expect(meanwhile).toEqual({ led: 'its run is being started', again: expect.any(Date) as unknown })
    expect(await findOpenJob(test.db, 'execution', uid)).toMatchObject({ workflow_id: workflowID })
    expect(await bringer().deliver(hosted)).toMatchObject({ led: 'signalled' })
  })

  it('counts as lost for other wakes when nobody can be starting it any more', async () => {
    const [uid, child] = [randomUUID(), randomUUID()]
    await know(executionKind, { uid, version: 1, status: { jobID: JOB } })
    const owner = { uid, name: `task-${uid}`, kind: 'Execution', apiVersion: executionKind.apiVersion }
    await know(deployItemKind, { uid: child, version: 2, owner, status: { jobID: JOB } })
    await openJob(test.db, {
      workflow_id: `execution/ns/e/${uid}/${JOB}`,
      run_id: null,
      controller: 'execution',
      uid,
      job_id: JOB,
      cluster: 'c',
      namespace: 'ns',
      name: 'e',
      cause: 'test',
      started_at: new Date(Date.now() - LEASE_MS),
    })
    await bringer().deliver(await wakeOf(child))
    expect(await rows()).toMatchObject([{ outcome: 'lost' }])
    expect((await test.wakes()).find((wake) => wake.uid === uid)).toMatchObject({ cause: 'run lost', may_start: true })
  })

  it('is superseded, and not lost, when its subject asks for another one before it began', async () => {
    const { wake, workflowID } = await unfinished()
    const { controller, uid, namespace, name } = wake
    await openJob(test.db, {
      workflow_id: `${workflowID}-former`,
      run_id: null,
      controller,
      uid,
      job_id: 'former',
      cluster: 'c',
      namespace,
      name,
      cause: 'test',
      started_at: new Date(Date.now() - LEASE_MS),
    })
    await bringer().deliver(wake)
    expect(await rows()).toMatchObject([{ workflow_id: `${workflowID}-former`, outcome: 'Superseded' }])
    await bringToEnd(
      bringer(),
      (await test.wakes()).find((one) => one.uid === uid)!,
    )
    const ends = new Map((await rows()).map(({ workflow_id, outcome }) => [workflow_id, outcome]))
    expect(ends).toEqual(
      new Map([
        [`${workflowID}-former`, 'Superseded'],
        [workflowID, null],
      ]),
    )
  })

  it('has its row open again, when its start took longer than a wake is leased and it counted as lost meanwhile', async () => {
    const { wake, workflowID } = await unfinished()
    const client = starting(async (start) => {
      const [job] = await test.db.selectFrom('job').selectAll().execute()
      await recordLostJob(test.db, job!, new Date())
      return (await start('', { workflowId: '', taskQueue: '' })) as never
    })
    const leased = { ...wake, lease_until: new Date() }
    await expect(bringer({ client }).deliver(leased)).rejects.toThrow('the lease of the wake ran out')
    await bringToEnd(bringer(), wake)
    expect(await rows()).toMatchObject([{ workflow_id: workflowID, outcome: null }])
  })
})
