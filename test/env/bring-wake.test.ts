// Deliveries of wakes whose runs end, or are started, at the same time: a real PostgreSQL and a real Temporal. No worker runs.

import type { Client } from '@temporalio/client'
import { type WorkflowHandle } from '@temporalio/client'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import { WakeDelivery, type Delivery } from '../../worker/reconciler/deliver-wake.ts'
import { PendingRuns } from '../../worker/reconciler/capacity.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { JOB, now, silentLog, useTemporal, journalObjects, storeWake } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const LEASE_MS = 60_000
const target = { apiVersion: deployItemKind.apiVersion, kind: 'DeployItem', plural: 'deployitems' }
const withShop = createRegistry([defineLevel({ name: 'shop', target, queries: {}, plan: nop })])

/** The delivery of another process. */
function deliverer({ client = temporal(), registry = builtInRegistry } = {}): WakeDelivery {
  const inFlightRuns = new InFlightRuns(now)
  return new WakeDelivery(
    { db: test.db, asyncCommitDb: test.db, client, log: silentLog, now, inFlightRuns, registry },
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

/** Delivers until the wake can be acknowledged. @throws errors for which the dispatcher logs a warning. */
async function deliverToEnd(to: WakeDelivery, wake: Wake): Promise<Delivery> {
  for (;;) {
    const delivery = await to.deliver(wake)
    if (delivery.retryAt === undefined) return delivery
    await sleep(Math.max(0, delivery.retryAt.getTime() - Date.now()))
  }
}

/** An unfinished item without an owner. */
async function unfinished(): Promise<{ readonly wake: Wake; readonly workflowID: string }> {
  const uid = randomUUID()
  await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }])
  const workflowID = `deploy/ns/task-${uid}/${uid}/${JOB}`
  endAfter(workflowID)
  return { wake: await storeWake(test, uid), workflowID }
}

function endAfter(workflowID: string): void {
  onTestFinished(async () => {
    await handleOf(workflowID)
      .terminate()
      .catch(() => undefined)
  })
}

const handleOf = (workflowID: string): WorkflowHandle => temporal().workflow.getHandle(workflowID)
const runOf = async (workflowID: string) => (await handleOf(workflowID).describe()).runId
const rows = async () => await test.db.selectFrom('job').select(['workflow_id', 'outcome', 'run_id']).execute()

/** A client that calls functions before and after the first signal. */
function disturbing(before: () => Promise<void>, after = async () => await Promise.resolve()): Client {
  const client = temporal()
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

/** A client that calls a function instead of the first start. */
function starting(first: (start: Client['workflow']['start']) => Promise<never>): Client {
  const client = temporal()
  const start = client.workflow.start.bind(client.workflow)
  client.workflow.start = (async (...args: Parameters<typeof start>) => {
    client.workflow.start = start
    return await first((async () => await start(...args)) as typeof start)
  }) as typeof start
  return client
}

describe('a run that ends while it is signalled', () => {
  it('is started again if its object still requests the job, although a start has just found it running', async () => {
    const { wake, workflowID } = await unfinished()
    await deliverer().deliver(wake)
    const first = await runOf(workflowID)
    // The row was lost when the starting process crashed.
    await test.db.deleteFrom('job').execute()
    const client = disturbing(async () => {
      await handleOf(workflowID).terminate()
    })
    expect(await deliverToEnd(deliverer({ client }), wake)).toMatchObject({ result: 'started' })
    const second = await runOf(workflowID)
    expect(second).not.toBe(first)
    expect(await rows()).toEqual([{ workflow_id: workflowID, outcome: null, run_id: second }])
  })

  it('is followed by the next run of its object if it has closed its row', async () => {
    const uid = randomUUID()
    const workflowID = `shop/ns/task-${uid}/${uid}`
    endAfter(workflowID)
    await journalObjects(test, [{ uid, version: 1 }])
    const wake = await storeWake(test, uid, { controller: 'shop' })
    await deliverer({ registry: withShop }).deliver(wake)
    const first = await runOf(workflowID)
    const client = disturbing(async () => {
      await endJob(test.db, workflowID, new Date())
      await handleOf(workflowID).terminate()
    })
    expect(await deliverToEnd(deliverer({ client, registry: withShop }), wake)).toMatchObject({ result: 'started' })
    expect(await findOpenJob(test.db, 'shop', uid)).toMatchObject({ run_id: await runOf(workflowID) })
    expect(await runOf(workflowID)).not.toBe(first)
  })

  it('is followed by the run of another process, which is signalled', async () => {
    const uid = randomUUID()
    const workflowID = `shop/ns/task-${uid}/${uid}`
    endAfter(workflowID)
    await journalObjects(test, [{ uid, version: 1 }])
    const wake = await storeWake(test, uid, { controller: 'shop' })
    await deliverer({ registry: withShop }).deliver(wake)
    await test.db.deleteFrom('job').execute()
    const others = deliverer({ registry: withShop })
    const client = disturbing(
      async () => {
        await handleOf(workflowID).terminate()
      },
      async () => {
        await test.db.deleteFrom('job').execute()
        expect(await others.deliver(wake)).toMatchObject({ result: 'started' })
      },
    )
    expect(await deliverToEnd(deliverer({ client, registry: withShop }), wake)).toMatchObject({ result: 'signalled' })
    expect(await findOpenJob(test.db, 'shop', uid)).toMatchObject({ run_id: await runOf(workflowID) })
  })
})

describe('a run whose row exists before the run', () => {
  it('is started by the next delivery after a failed start, and never counts as lost', async () => {
    const { wake, workflowID } = await unfinished()
    const client = starting(() => Promise.reject(new Error('the store has timed out')))
    const own = deliverer({ client })
    await expect(own.deliver(wake)).rejects.toThrow('the store has timed out')
    expect(await deliverToEnd(own, wake)).toMatchObject({ result: 'started' })
    expect(await rows()).toEqual([{ workflow_id: workflowID, outcome: null, run_id: await runOf(workflowID) }])
    expect((await test.wakes()).map(({ cause }) => cause)).toEqual(['test'])
  })

  it('delays other wakes while it is being started', async () => {
    const [uid, child] = [randomUUID(), randomUUID()]
    const workflowID = `execution/ns/task-${uid}/${uid}/${JOB}`
    endAfter(workflowID)
    await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }], { kind: executionKind })
    const owner = { uid, name: `task-${uid}`, kind: 'Execution', apiVersion: executionKind.apiVersion }
    await journalObjects(test, [{ uid: child, version: 2, owner, status: { jobID: JOB } }])
    const wake = await storeWake(test, uid, { controller: 'execution' })
    const hosted = await storeWake(test, child)
    let meanwhile: Delivery | undefined
    const client = starting(async (start) => {
      meanwhile = await deliverer().deliver(hosted)
      return (await start('', { workflowId: '', taskQueue: '' })) as never
    })
    expect(await deliverer({ client }).deliver(wake)).toMatchObject({ result: 'started' })
    expect(meanwhile).toEqual({ result: 'its run is being started', retryAt: expect.any(Date) as unknown })
    expect(await findOpenJob(test.db, 'execution', uid)).toMatchObject({ workflow_id: workflowID })
    expect(await deliverer().deliver(hosted)).toMatchObject({ result: 'signalled' })
  })

  it('counts as lost for other wakes after the lease of its start', async () => {
    const [uid, child] = [randomUUID(), randomUUID()]
    await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }], { kind: executionKind })
    const owner = { uid, name: `task-${uid}`, kind: 'Execution', apiVersion: executionKind.apiVersion }
    await journalObjects(test, [{ uid: child, version: 2, owner, status: { jobID: JOB } }])
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
    await deliverer().deliver(await storeWake(test, child))
    expect(await rows()).toMatchObject([{ outcome: 'lost' }])
    expect((await test.wakes()).find((wake) => wake.uid === uid)).toMatchObject({ cause: 'run lost', may_start: true })
  })

  it('is superseded if its subject requests another job before it began', async () => {
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
    await deliverer().deliver(wake)
    expect(await rows()).toMatchObject([{ workflow_id: `${workflowID}-former`, outcome: 'Superseded' }])
    await deliverToEnd(
      deliverer(),
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

  it('gets its row reopened if its start took longer than the lease and it counted as lost', async () => {
    const { wake, workflowID } = await unfinished()
    const client = starting(async (start) => {
      const [job] = await test.db.selectFrom('job').selectAll().execute()
      await recordLostJob(test.db, job!, new Date())
      return (await start('', { workflowId: '', taskQueue: '' })) as never
    })
    const leased = { ...wake, lease_until: new Date() }
    await expect(deliverer({ client }).deliver(leased)).rejects.toThrow('the lease of the wake ran out')
    await deliverToEnd(deliverer(), wake)
    expect(await rows()).toMatchObject([{ workflow_id: workflowID, outcome: null }])
  })
})
