// Workers that run some controllers: which wakes they take, and what becomes of runs on task queues that nobody serves any more.
// A real journal and a real Temporal; of workers only their polls.

import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { claimWakes, type NewWake, nextWakeDue, upsertWakes } from '../../activities/journal/write/wakes.ts'
import { createLogger } from '../../worker/server/log.ts'
import { Dispatcher } from '../../worker/reconciler/dispatcher.ts'
import { taskQueueOf } from '../../worker/reconciler/task-queues.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
let connection: NativeConnection
let client: Client
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
  client = new Client({ connection })
})
afterAll(async () => {
  await connection.close()
})

describe('a worker that runs some controllers', () => {
  const wake = (controller: string, due = NOW): NewWake => ({
    controller,
    uid: controller,
    job_id: '',
    cluster: 'c',
    namespace: 'ns',
    name: 'n',
    seq: 1,
    due,
    foreign_event: true,
    may_start: true,
    writer: null,
    cause: 'test',
  })
  const claim = async (controllers?: readonly string[]) => {
    const wakes = await claimWakes(test.db, {
      cluster: 'c',
      controllers,
      owner: 'd',
      limit: 9,
      leaseMs: 1000,
      now: NOW,
    })
    return wakes.map(({ controller }) => controller).sort()
  }

  it('takes their wakes and no others', async () => {
    await upsertWakes(
      test.db,
      ['installation', 'execution', 'deploy'].map((name) => wake(name)),
      NOW,
    )
    expect(await claim(['execution', 'deploy'])).toEqual(['deploy', 'execution'])
    expect(await claim(['execution', 'deploy'])).toEqual([])
    expect(await claim()).toEqual(['installation'])
  })

  it('sleeps until one of theirs is due, however early that of another is', async () => {
    await upsertWakes(test.db, [wake('installation'), wake('deploy', later(500))], NOW)
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['deploy'] })).toEqual(later(500))
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['execution'] })).toBeUndefined()
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toEqual(NOW)
  })
})

describe('a worker that runs all controllers', () => {
  it('leaves wakes of a controller that it does not know to a worker that does', async () => {
    const ours = { controller: 'execution', uid: 'gone' }
    const theirs = { controller: 'cronJob', uid: 'u' }
    const at = { job_id: '', cluster: 'c', namespace: 'ns', name: 'n', seq: 1, due: new Date() }
    const why = { foreign_event: true, may_start: true, writer: null, cause: 'test' }
    await upsertWakes(
      test.db,
      [theirs, ours].map((wake) => ({ ...wake, ...at, ...why })),
      at.due,
    )
    const now = () => new Date()
    const dispatcher = new Dispatcher(
      {
        db: test.db,
        asyncCommitDb: test.db,
        client,
        log: createLogger('test', 'silent'),
        now,
        report: () => undefined,
        inFlightRuns: new InFlightRuns(() => new Date()),
      },
      {
        owner: 'd',
        cluster: 'c',
        slots: 5,
        leaseMs: 5000,
        idleMs: 50,
        wokenSlotMs: 1000,
        taskQueue: `none-${randomUUID()}`,
        controllers: undefined,
        workflowTaskTimeoutMs: 10_000,
      },
    )
    const running = dispatcher.run()
    const wakes = async () => await test.db.selectFrom('wake').select(['controller', 'lease_owner']).execute()
    await expect.poll(wakes, { timeout: 30_000 }).toEqual([{ controller: 'cronJob', lease_owner: null }])
    dispatcher.stop()
    await running
    expect(await wakes()).toEqual([{ controller: 'cronJob', lease_owner: null }])
  })
})

describe('an open run without a pass for long', () => {
  const JOB = '4f1c2a54-d0b9-4c7e-9a3b-e8f15d4c7a21'

  /** A run of the execution controller on this queue, with its row in the journal. */
  const openRun = async (taskQueue: string) => {
    const uid = randomUUID()
    const workflowId = `execution/${uid}/${JOB}`
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
  const sweep = async (taskQueue: string, controllers?: readonly string[]) => {
    const log = createLogger('test', 'silent')
    await resyncOnce({ db: test.db, client, log, now: () => new Date() }, { cluster: 'c', taskQueue, controllers })
    const jobs = await test.db.selectFrom('job').select('outcome').execute()
    const wakes = await test.db.selectFrom('wake').select(['controller', 'cause']).execute()
    return { outcomes: jobs.map(({ outcome }) => outcome), wakes }
  }
  const lost = { outcomes: ['lost'], wakes: [{ controller: 'execution', cause: 'run lost' }] }
  const left = { outcomes: [null], wakes: [] }

  it('is ended and started again when no worker serves its queue and another queue has its controller now', async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(name)
    expect(await sweep(name, ['execution'])).toEqual(lost)
    expect((await handle.describe()).status.name).toBe('TERMINATED')
  })

  it('is left alone on the own queue, even if this worker does not get to asking for tasks', async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(taskQueueOf({ taskQueue: name, controllers: ['execution'] }, 'execution'))
    expect(await sweep(name, ['execution'])).toEqual(left)
    await handle.terminate()
  })

  it('is left alone on a queue that another worker serves', async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(name)
    await client.workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name },
      identity: 'a worker of the former kind',
    })
    expect(await sweep(name, ['execution'])).toEqual(left)
    expect((await handle.describe()).status.name).toBe('RUNNING')
    await handle.terminate()
  })

  it('is left to the worker that runs its controller', async () => {
    const handle = await openRun(`q-${randomUUID()}`)
    expect(await sweep('other', ['installation'])).toEqual(left)
    await handle.terminate()
  })
})
