// Runs whose workflow task fails where nobody could note it: what the sweep does about them. A real journal and a real Temporal; of the worker only
// that it takes each task and fails. Source: docs/adr/0029.

import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'

import { recordStuckRun } from '../../activities/journal/write/stuck-runs.ts'
import { createLogger } from '../../worker/server/log.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'
let connection: NativeConnection
let client: Client
let taskQueue: string
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
  client = new Client({ connection })
})
beforeEach(() => {
  taskQueue = `failing-${randomUUID()}`
})
afterAll(async () => {
  await connection.close()
})

describe('an open run whose workflow task fails again and again', () => {
  it('is ended and its subject woken, when no worker has noted it', async () => {
    const handle = await openRun()
    await failTask(3)
    expect(await sweep()).toEqual({
      outcomes: ['lost'],
      wakes: [{ controller: 'execution', cause: 'run lost', may_start: true }],
    })
    expect((await handle.describe()).status.name).toBe('TERMINATED')
    await expect(handle.result()).rejects.toMatchObject({
      cause: expect.objectContaining({ message: 'its workflow task was tried 4 times' }) as unknown,
    })
  })

  it('is left alone as long as it may have failed by chance', async () => {
    const handle = await openRun()
    await failTask(2)
    expect(await sweep()).toEqual({ outcomes: [null], wakes: [] })
    await handle.terminate()
  })

  it('is left to those who look after it, when a worker has noted it', async () => {
    const handle = await openRun()
    await failTask(3)
    const { workflowId: workflowID, firstExecutionRunId: runID } = handle
    await recordStuckRun(test.db, { workflowID, runID, reason: 'bug', build: 'b', message: 'a bug' }, new Date())
    expect(await sweep()).toEqual({ outcomes: [null], wakes: [] })
    await handle.terminate()
  })

  it('is ended when the note is of a run before it: in level mode all runs of an object have one workflow ID', async () => {
    const handle = await openRun()
    await failTask(3)
    const former = { workflowID: handle.workflowId, runID: '00000000-0000-7000-8000-000000000000' }
    await recordStuckRun(test.db, { ...former, reason: 'bug', build: 'b', message: 'a bug' }, new Date())
    expect(await sweep()).toMatchObject({ outcomes: ['lost'] })
    expect((await handle.describe()).status.name).toBe('TERMINATED')
  })
})

/** A run of the execution controller, with its row in the journal, without a pass for long. */
async function openRun() {
  const uid = randomUUID()
  const workflowId = `execution/ns/e/${uid}/${JOB}`
  const handle = await client.workflow.start('execution', { workflowId, taskQueue, args: [] })
  const at = { cluster: 'c', namespace: 'ns', name: 'e', cause: 'test', started_at: new Date(Date.now() - 600_000) }
  await openJob(test.db, {
    ...at,
    workflow_id: workflowId,
    run_id: handle.firstExecutionRunId,
    controller: 'execution',
    uid,
    job_id: JOB,
  })
  return handle
}

/** What a worker answers whose code throws. */
async function failTask(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const { taskToken } = await client.workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      identity: 'a worker',
    })
    await client.workflowService.respondWorkflowTaskFailed({ namespace: 'default', taskToken })
  }
}

async function sweep() {
  const log = createLogger('test', 'silent')
  const options = { cluster: 'c', taskQueue, controllers: undefined }
  await resyncOnce({ db: test.db, client, log, now: () => new Date() }, options)
  const jobs = await test.db.selectFrom('job').select('outcome').execute()
  const wakes = await test.db.selectFrom('wake').select(['controller', 'cause', 'may_start']).execute()
  return { outcomes: jobs.map(({ outcome }) => outcome), wakes }
}
