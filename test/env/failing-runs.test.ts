import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { recordStuckRun } from '../../activities/journal/write/stuck-runs.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { JOB, now, silentLog, useTemporal } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()
let taskQueue: string
beforeEach(() => {
  taskQueue = `failing-${randomUUID()}`
})

describe('an open run whose workflow task fails repeatedly', () => {
  it('is terminated, and its subject woken, if no worker has noted it', async () => {
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

  it('is not terminated after few failures', async () => {
    const handle = await openRun()
    await failTask(2)
    expect(await sweep()).toEqual({ outcomes: [null], wakes: [] })
    await handle.terminate()
  })

  it('is not terminated if a worker has noted it', async () => {
    const handle = await openRun()
    await failTask(3)
    const { workflowId: workflowID, firstExecutionRunId: runID } = handle
    await recordStuckRun(test.db, { workflowID, runID, reason: 'bug', build: 'b', message: 'a bug' }, new Date())
    expect(await sweep()).toEqual({ outcomes: [null], wakes: [] })
    await handle.terminate()
  })

  it('is terminated if the note is about a previous run with the same workflow ID', async () => {
    const handle = await openRun()
    await failTask(3)
    const former = { workflowID: handle.workflowId, runID: '00000000-0000-7000-8000-000000000000' }
    await recordStuckRun(test.db, { ...former, reason: 'bug', build: 'b', message: 'a bug' }, new Date())
    expect(await sweep()).toMatchObject({ outcomes: ['lost'] })
    expect((await handle.describe()).status.name).toBe('TERMINATED')
  })
})

/** A run of the execution controller with a row in the journal and without a recent pass. */
async function openRun() {
  const uid = randomUUID()
  const workflowId = `execution/ns/e/${uid}/${JOB}`
  const handle = await temporal().workflow.start('execution', { workflowId, taskQueue, args: [] })
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

/** Responds like a worker whose code throws. */
async function failTask(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const { taskToken } = await temporal().workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      identity: 'a worker',
    })
    await temporal().workflowService.respondWorkflowTaskFailed({ namespace: 'default', taskToken })
  }
}

async function sweep() {
  const options = { cluster: 'c', taskQueue, controllers: undefined }
  await resyncOnce({ db: test.db, client: temporal(), log: silentLog, now }, options)
  const jobs = await test.db.selectFrom('job').select('outcome').execute()
  const wakes = await test.db.selectFrom('wake').select(['controller', 'cause', 'may_start']).execute()
  return { outcomes: jobs.map(({ outcome }) => outcome), wakes }
}
