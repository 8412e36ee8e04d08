// Tests on a real Temporal server which runs a worker with changed code reports as non-replayable. The SDK has no
// public API for this, so a new SDK version may break worker/reconciler/temporal/sdk-worker.ts.

import { Client, Connection } from '@temporalio/client'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import { createWorker } from '../../worker/reconciler/temporal/sdk-worker.ts'

const taskQueue = `traveller-${randomUUID()}`
const logger = new DefaultLogger('ERROR', () => undefined)
const told: { readonly runID: string; readonly message: string }[] = []
let connection: Connection
let native: NativeConnection
let client: Client

beforeAll(async () => {
  Runtime.install({ logger })
  const address = inject('servers').temporalAddress
  connection = await Connection.connect({ address })
  native = await NativeConnection.connect({ address })
  client = new Client({ connection })
})
afterAll(async () => {
  await native.close()
  await connection.close()
})

describe('a worker whose code differs from the code that started a run', () => {
  it('reports the run that it cannot replay, and no other run', async () => {
    const first = await startWorker('before')
    const runs = await Promise.all(['changing', 'same', 'buggy'].map((name) => startRun(name)))
    const [changing, same, buggy] = runs
    for (const run of runs) await vi.waitFor(async () => expect(await taskIsPending(run)).toBe(false), WAIT)
    await first.stop()
    expect(told).toEqual([])

    const second = await startWorker('after')
    for (const run of runs) await run.signal('go')
    await same?.result()
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(0), WAIT)
    await vi.waitFor(async () => expect(await failedTasks(buggy)).toBeGreaterThan(0), WAIT)
    await second.stop()
    expect(new Set(told.map(({ runID }) => runID))).toEqual(new Set([changing?.firstExecutionRunId]))
    expect(told[0]?.message).toMatch(/nondetermin/i)
    for (const run of [changing, buggy]) await run?.terminate()
  })
})

const WAIT = { timeout: 30_000, interval: 100 }

type Run = Awaited<ReturnType<typeof startRun>>

async function startRun(name: string) {
  return await client.workflow.start(name, {
    workflowId: randomUUID(),
    taskQueue,
    args: [],
    workflowTaskTimeout: '5 seconds',
  })
}

async function startWorker(code: string): Promise<{ readonly stop: () => Promise<void> }> {
  const workflowsPath = join(import.meta.dirname, 'traveller', `${code}.ts`)
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger })
  const worker: Worker = await createWorker(
    { connection: native, taskQueue, workflowBundle, stickyQueueScheduleToStartTimeout: '1 second' },
    (runID, message) => void told.push({ runID, message }),
  )
  const running = worker.run()
  const stop = async () => {
    worker.shutdown()
    await running
  }
  return { stop }
}

/** Whether the run has not yet reached the wait for its signal. */
async function taskIsPending(run: Run): Promise<boolean> {
  const { events = [] } = await run.fetchHistory()
  const hasSlept = (events ?? []).some(({ timerFiredEventAttributes }) => timerFiredEventAttributes)
  return !hasSlept || (await run.describe()).raw.pendingWorkflowTask !== null
}

async function failedTasks(run: Run | undefined): Promise<number> {
  const { events } = (await run?.fetchHistory()) ?? {}
  return (events ?? []).filter(({ workflowTaskFailedEventAttributes }) => workflowTaskFailedEventAttributes).length
}
