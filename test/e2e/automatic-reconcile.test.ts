// Tests automatic reconciles of Installations: retries after a failure, and jobs at an interval. restarts.test.ts tests
// them with a restart of the worker.
// Source: spec/landscaper.md 2.12.

import { describe, expect, it } from 'vitest'
import { failingItem, installation, type LsObject } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('automatic')

async function create(name: string, items: Parameters<typeof installation>[1], automaticReconcile: object) {
  await stage.cluster.create(installation(name, items, { spec: { automaticReconcile } }), 'installations')
}

/** The automatic jobs of an Installation, with their outcomes. */
async function automaticJobs(object: LsObject): Promise<string[]> {
  const rows = await stage.pawl.db
    .selectFrom('job')
    .select(['cause', 'outcome'])
    .where('uid', '=', object.metadata.uid ?? '')
    .where('cause', 'like', 'automatic%')
    .orderBy('started_at')
    .execute()
  return rows.map(({ cause, outcome }) => `${cause}: ${outcome ?? 'open'}`)
}

/** Waits until the status counts this number of automatic jobs, and the last job has ended. */
async function counted(name: string, numberOfReconciles: number): Promise<LsObject> {
  return await stage.cluster.waitUntil('installations', name, (it) => {
    const { jobID, jobIDFinished, automaticReconcileStatus } = it?.status ?? {}
    const { numberOfReconciles: found } = (automaticReconcileStatus ?? {}) as { numberOfReconciles?: number }
    return found === numberOfReconciles && jobID === jobIDFinished
  })
}

/** The time of the next job, from its wake in the journal; undefined if no job is scheduled. */
async function dueOf(object: LsObject): Promise<Date | undefined> {
  const row = await stage.pawl.db
    .selectFrom('wake')
    .select('due')
    .where('uid', '=', object.metadata.uid ?? '')
    .where('due', '>', new Date())
    .executeTakeFirst()
  return row?.due
}

describe.concurrent('an installation with automaticReconcile', () => {
  it('is retried after a failure, at most numberOfReconciles times, and then only on request', async () => {
    const { cluster, pawl } = stage
    await create('retried', [failingItem('bad')], { failedReconcile: { numberOfReconciles: 2, interval: '2s' } })
    const twice = await counted('retried', 2)
    expect(twice.status).toMatchObject({
      phase: 'Failed',
      automaticReconcileStatus: { generation: twice.metadata.generation, onFailed: true },
    })
    await pawl.waitUntilSettled(twice)
    const retry = 'automatic reconcile after a failure: Failed'
    expect(await automaticJobs(twice)).toEqual([retry, retry])
    expect(await dueOf(twice)).toBeUndefined()

    // A requested job resets the count, so two retries follow again.
    await cluster.trigger('retried')
    await cluster.waitUntilFinished('retried', twice.status?.jobID)
    await pawl.waitUntilSettled(await counted('retried', 2))
    expect(await automaticJobs(twice)).toHaveLength(4)
  })

  it('waits in the journal without a run, until its schedule is edited or the installation is deleted', async ({
    expect: expectHere,
  }) => {
    const { cluster, pawl } = stage
    await create('patient', [{ name: 'good' }], { succeededReconcile: { cronSpec: '@every 20h' } })
    const { metadata, status } = await cluster.waitUntilFinished('patient')
    const hours = async () => {
      const due = await dueOf({ metadata })
      return due === undefined ? undefined : Math.round((due.getTime() - Date.now()) / 3_600_000)
    }
    await expectHere.poll(hours).toBe(20)
    const open = pawl.db
      .selectFrom('job')
      .where('uid', '=', metadata.uid ?? '')
      .where('outcome', 'is', null)
      .selectAll()
    await expectHere.poll(async () => await open.execute()).toEqual([])

    // An edit starts no job, so the test requests one. The new interval starts at the end of that job.
    const spec = { automaticReconcile: { succeededReconcile: { cronSpec: null, interval: '2h' } } }
    await cluster.patch('installations', 'patient', { spec })
    await cluster.trigger('patient')
    await cluster.waitUntilFinished('patient', status?.jobID)
    await expectHere.poll(hours).toBe(2)

    await cluster.delete('installations', 'patient')
    await cluster.waitUntilGone('patient')
    await expectHere.poll(async () => await dueOf({ metadata })).toBeUndefined()
  })
})
