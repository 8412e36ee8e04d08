// Deliveries of wakes whose runs end, or are started, at the same time: a real PostgreSQL and a real Temporal. No worker runs.

import type { Client } from '@temporalio/client'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, it } from 'vitest'
import type { NewJob } from '../../activities/journal/write/jobs.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { type Wake } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { WakeDelivery, type Delivery } from '../../worker/reconciler/deliver-wake.ts'
import { PendingRuns } from '../../worker/reconciler/capacity.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import {
  endAfterTest,
  JOB,
  journalObjects,
  levelRegistry,
  now,
  onFirstStart,
  silentLog,
  storeUnfinished,
  storeWake,
  useTemporal,
} from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const LEASE_MS = 60_000

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
const levelDeliverer = (client = temporal()) => deliverer({ client, registry: levelRegistry })

/** Delivers until the wake can be acknowledged. @throws errors for which the dispatcher logs a warning. */
async function deliverToEnd(to: WakeDelivery, wake: Wake): Promise<Delivery> {
  for (;;) {
    const delivery = await to.deliver(wake)
    if (delivery.retryAt === undefined) return delivery
    await sleep(Math.max(0, delivery.retryAt.getTime() - Date.now()))
  }
}

const terminate = async (workflowID: string): Promise<void> => {
  await temporal().workflow.getHandle(workflowID).terminate()
}
const runOf = async (workflowID: string) => (await temporal().workflow.getHandle(workflowID).describe()).runId
const rows = async () => await test.rows('job', 'started_at', 'workflow_id', 'outcome', 'run_id')
const wakeOf = async (uid: string) => (await test.wakes()).find((wake) => wake.uid === uid)!
const unfinished = async () => await storeUnfinished(test, temporal())

/** An object of a controller in level mode whose run another process has started. */
async function started() {
  const uid = randomUUID()
  const workflowID = `shop/ns/task-${uid}/${uid}`
  endAfterTest(temporal(), workflowID)
  await journalObjects(test, [{ uid, version: 1 }])
  const wake = await storeWake(test, uid, { controller: 'shop' })
  await levelDeliverer().deliver(wake)
  const isLatestRun = async () => (await findOpenJob(test.db, 'shop', uid))?.run_id === (await runOf(workflowID))
  return { workflowID, wake, first: await runOf(workflowID), isLatestRun }
}

/** An unfinished execution, and an item that its run hosts. */
async function hosted() {
  const [uid, child] = [randomUUID(), randomUUID()]
  const workflowID = `execution/ns/task-${uid}/${uid}/${JOB}`
  endAfterTest(temporal(), workflowID)
  const owner = { uid, name: `task-${uid}`, kind: 'Execution', apiVersion: executionKind.apiVersion }
  await journalObjects(test, [{ uid, version: 1, status: { jobID: JOB } }], { kind: executionKind })
  await journalObjects(test, [{ uid: child, version: 2, owner, status: { jobID: JOB } }])
  return { uid, workflowID, wakeOfItem: await storeWake(test, child) }
}

/** The row of a run that another process was about to start when its lease ended. */
const openLate = async (overrides: Partial<NewJob>) =>
  await openJob(test.db, job({ run_id: null, started_at: new Date(Date.now() - LEASE_MS), ...overrides }))

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

describe('a run that ends while it is signalled', () => {
  it('is started again if its object still requests the job, although a start has just found it running', async () => {
    const { wake, workflowID } = await unfinished()
    await deliverer().deliver(wake)
    const first = await runOf(workflowID)
    // The row was lost when the starting process crashed.
    await test.db.deleteFrom('job').execute()
    const client = disturbing(() => terminate(workflowID))
    expect(await deliverToEnd(deliverer({ client }), wake)).toMatchObject({ result: 'started' })
    const second = await runOf(workflowID)
    expect(second).not.toBe(first)
    expect(await rows()).toMatchObject([{ workflow_id: workflowID, outcome: null, run_id: second }])
  })

  it('is followed by the next run of its object if it has closed its row', async () => {
    const { workflowID, wake, first, isLatestRun } = await started()
    const client = disturbing(async () => {
      await endJob(test.db, workflowID, new Date())
      await terminate(workflowID)
    })
    expect(await deliverToEnd(levelDeliverer(client), wake)).toMatchObject({ result: 'started' })
    expect(await isLatestRun()).toBe(true)
    expect(await runOf(workflowID)).not.toBe(first)
  })

  it('is followed by the run of another process, which is signalled', async () => {
    const { workflowID, wake, isLatestRun } = await started()
    await test.db.deleteFrom('job').execute()
    const others = levelDeliverer()
    const client = disturbing(
      () => terminate(workflowID),
      async () => {
        await test.db.deleteFrom('job').execute()
        expect(await others.deliver(wake)).toMatchObject({ result: 'started' })
      },
    )
    expect(await deliverToEnd(levelDeliverer(client), wake)).toMatchObject({ result: 'signalled' })
    expect(await isLatestRun()).toBe(true)
  })
})

describe('a run whose row exists before the run', () => {
  it('is started by the next delivery after a failed start, and never counts as lost', async () => {
    const { wake, workflowID } = await unfinished()
    const client = onFirstStart(temporal(), () => Promise.reject(new Error('the store has timed out')))
    const own = deliverer({ client })
    await expect(own.deliver(wake)).rejects.toThrow('the store has timed out')
    expect(await deliverToEnd(own, wake)).toMatchObject({ result: 'started' })
    expect(await rows()).toMatchObject([{ workflow_id: workflowID, outcome: null, run_id: await runOf(workflowID) }])
    expect((await test.wakes()).map(({ cause }) => cause)).toEqual(['test'])
  })

  it('delays other wakes while it is being started', async () => {
    const { uid, workflowID, wakeOfItem } = await hosted()
    let meanwhile: Delivery | undefined
    const client = onFirstStart(temporal(), async (start) => {
      meanwhile = await deliverer().deliver(wakeOfItem)
      return await start()
    })
    const wake = await storeWake(test, uid, { controller: 'execution' })
    expect(await deliverer({ client }).deliver(wake)).toMatchObject({ result: 'started' })
    expect(meanwhile).toEqual({ result: 'another process is starting the run', retryAt: expect.any(Date) as unknown })
    expect(await findOpenJob(test.db, 'execution', uid)).toMatchObject({ workflow_id: workflowID })
    expect(await deliverer().deliver(wakeOfItem)).toMatchObject({ result: 'signalled' })
  })

  it('counts as lost for other wakes after the lease of its start', async () => {
    const { uid, workflowID, wakeOfItem } = await hosted()
    await openLate({ workflow_id: workflowID, controller: 'execution', uid, job_id: JOB })
    await deliverer().deliver(wakeOfItem)
    expect(await rows()).toMatchObject([{ outcome: 'lost' }])
    expect(await wakeOf(uid)).toMatchObject({ cause: 'run lost', may_start: true })
  })

  it('is superseded if its subject requests another job before it began', async () => {
    const { wake, workflowID, uid } = await unfinished()
    const superseded = { workflow_id: `${workflowID}-former`, outcome: 'Superseded' }
    await openLate({ workflow_id: superseded.workflow_id, controller: 'deploy', uid, job_id: 'former' })
    await deliverer().deliver(wake)
    expect(await rows()).toMatchObject([superseded])
    await deliverToEnd(deliverer(), await wakeOf(uid))
    expect(await rows()).toMatchObject([superseded, { workflow_id: workflowID, outcome: null }])
  })

  it('gets its row reopened if its start took longer than the lease and it counted as lost', async () => {
    const { wake, workflowID } = await unfinished()
    const client = onFirstStart(temporal(), async (start) => {
      const [row] = await test.db.selectFrom('job').selectAll().execute()
      await recordLostJob(test.db, row!, new Date())
      return await start()
    })
    const leased = { ...wake, lease_until: new Date() }
    await expect(deliverer({ client }).deliver(leased)).rejects.toThrow(
      `the lease of the wake expired during the start of run ${workflowID}`,
    )
    await deliverToEnd(deliverer(), wake)
    expect(await rows()).toMatchObject([{ workflow_id: workflowID, outcome: null }])
  })
})
