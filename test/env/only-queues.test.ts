import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { claimWakes, nextWakeDue, upsertWakes } from '../../activities/journal/write/wakes.ts'
import { taskQueueOf } from '../../worker/reconciler/task-queues.ts'
import { resyncOnce } from '../../worker/reconciler/resync.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { JOB, now, silentLog, useTemporal, createDispatcher, wakeRow } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

describe('a worker with selected controllers', () => {
  const wake = (controller: string, due = NOW) => wakeRow(controller, { controller, due })
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

  it('claims only their wakes', async () => {
    await upsertWakes(
      test.db,
      ['installation', 'execution', 'deploy'].map((name) => wake(name)),
      NOW,
    )
    expect(await claim(['execution', 'deploy'])).toEqual(['deploy', 'execution'])
    expect(await claim(['execution', 'deploy'])).toEqual([])
    expect(await claim()).toEqual(['installation'])
  })

  it('sleeps until one of their wakes is due', async () => {
    await upsertWakes(test.db, [wake('installation'), wake('deploy', later(500))], NOW)
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['deploy'] })).toEqual(later(500))
    expect(await nextWakeDue(test.db, { cluster: 'c', controllers: ['execution'] })).toBeUndefined()
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toEqual(NOW)
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

describe('an open run without a recent pass', () => {
  /** A run of the execution controller on this queue, with its row in the journal. */
  const openRun = async (taskQueue: string) => {
    const uid = randomUUID()
    const workflowId = `execution/${uid}/${JOB}`
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
  const sweep = async (taskQueue: string, controllers?: readonly string[]) => {
    await resyncOnce({ db: test.db, client: temporal(), log: silentLog, now }, { cluster: 'c', taskQueue, controllers })
    const jobs = await test.db.selectFrom('job').select('outcome').execute()
    const wakes = await test.db.selectFrom('wake').select(['controller', 'cause']).execute()
    return { outcomes: jobs.map(({ outcome }) => outcome), wakes }
  }
  const lost = { outcomes: ['lost'], wakes: [{ controller: 'execution', cause: 'run lost' }] }
  const left = { outcomes: [null], wakes: [] }

  it('is restarted if no worker polls its queue and its controller has another queue now', async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(name)
    expect(await sweep(name, ['execution'])).toEqual(lost)
    expect((await handle.describe()).status.name).toBe('TERMINATED')
  })

  it("stays open on this worker's queue, also without polls", async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(taskQueueOf({ taskQueue: name, controllers: ['execution'] }, 'execution'))
    expect(await sweep(name, ['execution'])).toEqual(left)
    await handle.terminate()
  })

  it('stays open on a queue that another worker polls', async () => {
    const name = `q-${randomUUID()}`
    const handle = await openRun(name)
    await temporal().workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name },
      identity: 'a worker of the former kind',
    })
    expect(await sweep(name, ['execution'])).toEqual(left)
    expect((await handle.describe()).status.name).toBe('RUNNING')
    await handle.terminate()
  })

  it('stays open if this worker does not run its controller', async () => {
    const handle = await openRun(`q-${randomUUID()}`)
    expect(await sweep('other', ['installation'])).toEqual(left)
    await handle.terminate()
  })
})
