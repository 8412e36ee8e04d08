// The resync of open runs without a recent pass: it ends runs that no worker can continue, and wakes their subjects. And
// the wakes that a worker with selected controllers claims. Against a real journal and a real Temporal.

import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeEach, describe, expect, inject, it } from 'vitest'

import { recordStuckRun } from '../../activities/journal/write/stuck-runs.ts'
import { claimWakes, nextWakeDue, upsertWakes } from '../../activities/journal/write/wakes.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { taskQueueOf } from '../../worker/reconciler/task-queues.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { createDispatcher, JOB, now, silentLog, useTemporal, wakeRow } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()
let name: string
beforeEach(() => {
  name = `open-runs-${randomUUID()}`
})

const LOST = { outcomes: ['lost'], wakes: [{ controller: 'execution', cause: 'run lost', may_start: true }] }
const LEFT = { outcomes: [null], wakes: [] }
const STARTED = new Date(Date.now() - 600_000)

/** A run of the execution controller with a row in the journal and without a recent pass. */
async function openRun(taskQueue = name) {
  const uid = randomUUID()
  const workflowId = `execution/ns/e/${uid}/${JOB}`
  const handle = await temporal().workflow.start('execution', { workflowId, taskQueue, args: [] })
  const at = { cluster: 'c', namespace: 'ns', name: 'e', cause: 'test', started_at: STARTED }
  const run = { workflow_id: workflowId, run_id: handle.firstExecutionRunId, controller: 'execution' }
  await openJob(test.db, { ...at, ...run, uid, job_id: JOB })
  return handle
}

async function poll(taskQueue = name) {
  return await temporal().workflowService.pollWorkflowTaskQueue({
    namespace: 'default',
    taskQueue: { name: taskQueue },
    identity: 'another worker',
  })
}

/** Responds like a worker whose code throws. */
async function failTask(times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    const { taskToken } = await poll()
    await temporal().workflowService.respondWorkflowTaskFailed({ namespace: 'default', taskToken })
  }
}

/** One resync, by a worker with these controllers. */
async function sweep(controllers?: readonly string[]) {
  const options = { cluster: 'c', taskQueue: name, controllers }
  await resyncOnce({ db: test.db, client: temporal(), log: silentLog, now }, options)
  const jobs = await test.db.selectFrom('job').select('outcome').execute()
  const wakes = await test.db.selectFrom('wake').select(['controller', 'cause', 'may_start']).execute()
  return { outcomes: jobs.map(({ outcome }) => outcome), wakes }
}

describe('an open run whose workflow task fails repeatedly', () => {
  it('is terminated, and its subject woken, if no worker has noted it', async () => {
    const handle = await openRun()
    await failTask(3)
    expect(await sweep()).toEqual(LOST)
    expect((await handle.describe()).status.name).toBe('TERMINATED')
    await expect(handle.result()).rejects.toMatchObject({
      cause: expect.objectContaining({ message: 'its workflow task failed 4 times' }) as unknown,
    })
  })

  it.each([
    ['is not terminated after few failures', 2, undefined, LEFT],
    ['is not terminated if a worker has noted it', 3, 'it', LEFT],
    ['is terminated if the note is about a previous run with the same workflow ID', 3, 'former', LOST],
  ])('%s', async (_, failures, noted, expected) => {
    const handle = await openRun()
    await failTask(failures)
    const runID = noted === 'it' ? handle.firstExecutionRunId : '00000000-0000-7000-8000-000000000000'
    const note = { workflowID: handle.workflowId, runID, reason: 'bug', build: 'b', message: 'a bug' } as const
    if (noted !== undefined) await recordStuckRun(test.db, note, new Date())
    expect(await sweep()).toEqual(expected)
    if (expected === LEFT) await handle.terminate()
  })
})

describe('an open run without a recent pass', () => {
  it('is restarted if no worker polls its queue and its controller has another queue now', async () => {
    const handle = await openRun()
    expect(await sweep(['execution'])).toEqual(LOST)
    expect((await handle.describe()).status.name).toBe('TERMINATED')
  })

  it('is restarted at once if a build before migration 0006 started it', async () => {
    // A worker of that build still polls its queue.
    const handle = await openRun(`former-${name}`)
    await poll(`former-${name}`)
    const former = async () => (await sql`select workflow_id from former_run`.execute(test.db)).rows
    await sql`insert into former_run values (${handle.workflowId}, ${STARTED})`.execute(test.db)
    expect(await sweep(['installation'])).toEqual(LEFT)
    expect((await sweep(['execution'])).outcomes).toEqual(['lost'])
    expect((await handle.describe()).status.name).toBe('TERMINATED')
    await sweep(['execution'])
    expect(await former()).toEqual([])
  })

  it("stays open on this worker's queue, also without polls", async () => {
    const handle = await openRun(taskQueueOf({ taskQueue: name, controllers: ['execution'] }, 'execution'))
    expect(await sweep(['execution'])).toEqual(LEFT)
    await handle.terminate()
  })

  it('stays open on a queue that another worker polls', async () => {
    const handle = await openRun()
    await poll()
    expect(await sweep(['execution'])).toEqual(LEFT)
    expect((await handle.describe()).status.name).toBe('RUNNING')
    await handle.terminate()
  })

  it('stays open if this worker does not run its controller', async () => {
    const handle = await openRun(`other-${name}`)
    expect(await sweep(['installation'])).toEqual(LEFT)
    await handle.terminate()
  })
})

describe('a worker with selected controllers', () => {
  const wake = (controller: string, due = NOW) => wakeRow(controller, { controller, due })
  const claim = async (controllers?: readonly string[]) => {
    const claiming = { cluster: 'c', controllers, owner: 'd', limit: 9, leaseMs: 1000, now: NOW }
    return (await claimWakes(test.db, claiming)).map(({ controller }) => controller).sort()
  }

  it('claims only their wakes, and sleeps until one of their wakes is due', async () => {
    await upsertWakes(test.db, [wake('installation'), wake('execution'), wake('deploy', later(500))], NOW)
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['deploy'] })).toEqual(later(500))
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['other'] })).toBeUndefined()
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toEqual(NOW)
    expect(await claim(['execution', 'deploy'])).toEqual(['execution'])
    expect(await claim(['execution', 'deploy'])).toEqual([])
    expect(await claim()).toEqual(['installation'])
  })

  it('claims no wake without the prefix of this build in the lease owner, as builds before migration 0006 do', async () => {
    await upsertWakes(test.db, [wake('execution')], NOW)
    const formerClaim = sql`update wake set lease_owner = 'host/1/former'`.execute(test.db)
    await expect(formerClaim).rejects.toThrow('wake_of_present_runs')
  })
})

describe('a worker with all controllers', () => {
  it('does not claim wakes of an unknown controller', async () => {
    const wakesOf = [wakeRow('u', { controller: 'cronJob' }), wakeRow('gone', { controller: 'execution' })]
    await upsertWakes(test.db, wakesOf, now())
    const dispatcher = createDispatcher(test, temporal())
    const running = dispatcher.run()
    const wakes = async () => await test.db.selectFrom('wake').select(['controller', 'lease_owner']).execute()
    await expect.poll(wakes, { timeout: 30_000 }).toEqual([{ controller: 'cronJob', lease_owner: null }])
    dispatcher.stop()
    await running
    expect(await wakes()).toEqual([{ controller: 'cronJob', lease_owner: null }])
  })
})
