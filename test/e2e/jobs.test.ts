// Jobs of Installations: what starts them, what they write and record, how they fail, and the Installation of the
// README. Automatic reconciles with a restart of the worker: restarts.test.ts. The files in examples/: examples.test.ts.
// Source: seeds/landscaper-execution-controller.txt, spec/landscaper.md 2.8, 2.12.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { KubeObject } from '../../activities/kube/client.ts'
import {
  CHAIN,
  failingItem,
  installation,
  type Item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('jobs')

async function run(name: string, items: readonly Item[]) {
  await stage.cluster.create(installation(name, items), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

/** Waits until the item waits in Progressing, in another job than `after`. */
async function runningItem(execution: string, name: string, after?: string) {
  const items = await stage.cluster.waitUntilItems(
    execution,
    [name],
    (item) => item?.status?.phase === 'Progressing' && item.status.jobID !== after,
  )
  return items.get(name)!
}

function edit(items: readonly Item[]) {
  return { spec: installation('', items).spec }
}

function generations(items: ReadonlyMap<string, LsObject>): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries([...items].map(([name, { metadata }]) => [name, metadata.generation]))
}

describe.concurrent('an installation whose items all succeed', () => {
  it('finishes its tree with one job ID, in one run and one row of the journal', async () => {
    const root = await run('single', [{ name: 'only' }])
    const execution = await stage.cluster.get('executions', 'single')
    const items = await stage.cluster.items('single')

    const jobID = root.status?.jobID
    expect(jobID).toMatch(/^[0-9a-f-]{36}$/)
    const finished = { phase: 'Succeeded', jobID, jobIDFinished: jobID }
    expect(root.status).toMatchObject({
      ...finished,
      observedGeneration: root.metadata.generation,
      executionRef: { name: 'single', namespace: 'jobs' },
    })
    expect(root.status?.lastError).toBeUndefined()
    expect(root.metadata.finalizers).toEqual(['finalizer.landscaper.gardener.cloud'])
    expect(root.spec?.['context']).toBe('default')
    expect(root.metadata.annotations ?? {}).toEqual({})
    expect(execution?.status).toMatchObject(finished)
    expect([...items.keys()]).toEqual(['only'])
    expect(items.get('only')?.status).toMatchObject(finished)
    expect(items.get('only')?.metadata.name).toMatch(/^single-only-[0-9a-f]{5}$/)

    await stage.pawl.waitUntilSettled(root)
    const rows = await stage.pawl.db
      .selectFrom('job')
      .select(['controller', 'outcome'])
      .where('job_id', '=', jobID ?? '')
      .orderBy('controller')
      .execute()
    expect(rows).toEqual([{ controller: 'installation', outcome: 'Succeeded' }])
  })
})

describe.concurrent('a finished installation', () => {
  it('runs a second job on an unchanged spec without a write to the specs of its items, and no job for an edit alone', async () => {
    const first = await run('again', CHAIN)
    const before = await stage.cluster.items('again')
    await stage.cluster.trigger('again')
    const second = await stage.cluster.waitUntilFinished('again', first.status?.jobID)

    const after = await stage.cluster.items('again')
    expect(second.status?.phase).toBe('Succeeded')
    expect(generations(after)).toEqual(generations(before))
    expect([...after.values()].map(({ status }) => status?.jobIDFinished)).toEqual(
      CHAIN.map(() => second.status?.jobID),
    )
    expect(await stage.pawl.jobs(second)).toEqual([
      { jobID: first.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: second.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
    ])
    await stage.pawl.waitUntilSettled(await stage.cluster.patch('installations', 'again', edit([{ name: 'new' }])))
    expect(await stage.pawl.jobs(second)).toHaveLength(2)
    expect((await stage.cluster.get('installations', 'again'))?.status).toEqual(second.status)
  })

  it('updates only the items that its new blueprint changes', async () => {
    const first = await run('changed', [{ name: 'same' }, { name: 'other' }])
    const before = await stage.cluster.items('changed')
    const items = [{ name: 'same' }, { name: 'other', config: { providerStatus: { apiVersion: 'v1', kind: 'New' } } }]
    await stage.cluster.patch('installations', 'changed', installation('changed', items))
    await stage.cluster.waitUntilFinished('changed', first.status?.jobID)

    const after = await stage.cluster.items('changed')
    expect(generations(before)).toEqual({ same: 1, other: 1 })
    expect(generations(after)).toEqual({ same: 1, other: 2 })
    expect(after.get('other')?.status?.['providerStatus']).toEqual({ apiVersion: 'v1', kind: 'New' })
  })
})

describe.concurrent('an installation with reconcile-if-changed', () => {
  const annotations = { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' }

  it('runs when it is new and when its spec changes, but not when its labels change', async () => {
    const options = { triggered: false, annotations }
    await stage.cluster.create(installation('on-change', [{ name: 'only' }], options), 'installations')
    const first = await stage.cluster.waitUntilFinished('on-change')
    const labelled = await stage.cluster.patch('installations', 'on-change', { metadata: { labels: { team: 'a' } } })
    await stage.pawl.waitUntilSettled(labelled)
    expect(await stage.pawl.jobs(first)).toHaveLength(1)

    await stage.cluster.patch('installations', 'on-change', edit([{ name: 'only' }, { name: 'new' }]))
    const second = await stage.cluster.waitUntilFinished('on-change', first.status?.jobID)
    expect(await stage.cluster.phases('on-change')).toEqual({ only: 'Succeeded', new: 'Succeeded' })
    await stage.pawl.waitUntilSettled(second)
    expect(await stage.pawl.jobs(first)).toEqual([
      { jobID: first.status?.jobID, cause: 'changed spec', outcome: 'Succeeded' },
      { jobID: second.status?.jobID, cause: 'changed spec', outcome: 'Succeeded' },
    ])
  })
})

describe.concurrent('a job whose installation changes meanwhile', () => {
  it('is followed by exactly one job when the user sets the annotation twice', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('annotated', [waitingItem('only')]), 'installations')
    const item = await runningItem('annotated', 'only')
    await cluster.trigger('annotated')
    await cluster.patch('installations', 'annotated', { metadata: { annotations: { [OPERATION]: null } } })
    await cluster.trigger('annotated')
    await cluster.finishItem(item, 'Succeeded')
    const again = await runningItem('annotated', 'only', item.status?.jobID)
    await cluster.finishItem(again, 'Succeeded')

    const second = await cluster.waitUntilFinished('annotated', item.status?.jobID)
    expect(await pawl.jobs(second)).toEqual([
      { jobID: item.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: again.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
    ])
  })

  it('finishes when the user deletes the installation, and then the deletion runs in a separate job', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('deleted', [waitingItem('only')]), 'installations')
    const item = await runningItem('deleted', 'only')
    await cluster.delete('installations', 'deleted')
    const deleting = await cluster.waitUntil(
      'installations',
      'deleted',
      (it) => it?.metadata.deletionTimestamp !== undefined && it.status?.phase !== 'Init',
    )
    await pawl.waitUntilJournaled(deleting)
    expect(deleting.status).toMatchObject({ phase: 'Progressing', jobID: item.status?.jobID })

    await cluster.finishItem(item, 'Succeeded')
    await cluster.waitUntilGone('deleted')
    expect(await pawl.jobs(deleting)).toEqual([
      { jobID: item.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: expect.not.stringMatching(item.status?.jobID ?? '') as string, cause: 'deletion', outcome: 'Deleted' },
    ])
    expect(await cluster.items('deleted')).toEqual(new Map())
  })
})

const CAUSE = 'the configuration requests phase Failed'

describe.concurrent('an execution with a failed item', () => {
  it('stays in Progressing until the running siblings have ended, and fails then', async () => {
    const { cluster, pawl } = stage
    await cluster.create(
      installation('siblings', [failingItem('bad'), waitingItem('slow'), waitingItem('slower')]),
      'installations',
    )
    const items = await cluster.waitUntilItems(
      'siblings',
      ['slow', 'slower'],
      (item) => item?.status?.phase === 'Progressing',
    )
    await cluster.waitUntilItems('siblings', ['bad'], (item) => item?.status?.phase === 'Failed')

    await cluster.finishItem(items.get('slow')!, 'Succeeded')
    const slow = (await cluster.items('siblings')).get('slow')!
    await pawl.waitForHostPass(slow)
    const endOf = async () => (await cluster.get('executions', 'siblings'))?.status
    expect(await endOf()).toMatchObject({ phase: 'Progressing' })

    await cluster.finishItem(items.get('slower')!, 'Succeeded')
    const root = await cluster.waitUntilFinished('siblings')
    expect(await endOf()).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseProgressing',
        reason: 'DeployItemsFailed',
        message: `deploy item "bad" failed: ${CAUSE}`,
      },
    })
    expect(root.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'buildErrorIfFailedChild',
        reason: 'children failed',
        message: `Execution "siblings" failed: deploy item "bad" failed: ${CAUSE}`,
      },
    })
  })
})

async function create(name: string, items: readonly Item[], automaticReconcile: object) {
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

const readme = await readFile(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
const shop = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''

/** Creates the manifest in the test's namespace and waits for its job. */
async function runManifest(manifest: string) {
  const object = parse(manifest) as KubeObject & { apiVersion: string }
  const { name } = object.metadata
  const namespaced = { ...object, metadata: { ...object.metadata, namespace: 'jobs' } }
  await stage.cluster.create(namespaced, 'installations')
  const { phase } = (await stage.cluster.waitUntilFinished(name)).status ?? {}
  const execution = await stage.cluster.get('executions', name)
  return { name, phase, phases: await stage.cluster.phases(name), message: execution?.status?.lastError?.message }
}

describe.concurrent('the installation of the README', () => {
  it('succeeds with its three items, and is gone after its deletion', async () => {
    const phases = { app: 'Succeeded', cache: 'Succeeded', db: 'Succeeded' }
    expect(await runManifest(shop)).toEqual({ name: 'shop', phase: 'Succeeded', phases, message: undefined })
    await stage.cluster.delete('installations', 'shop')
    await stage.cluster.waitUntilGone('shop')
    expect(await stage.cluster.phases('shop')).toEqual({})
  })

  it('says the path of the cycle when it is edited as the README says, and goes at once', async () => {
    const [, from = '', to = ''] = /sed 's\/(.*?)\/(.*?)\/;/.exec(readme) ?? []
    expect(shop).toContain(from)
    const circle = await runManifest(shop.replace(from, to).replace('name: shop', 'name: circle'))
    expect(circle).toMatchObject({ phase: 'Failed' })
    expect(circle.message).toBe('deploy items depend on each other: app -> db -> app; remove one of these dependencies')
    expect(readme).toContain(circle.message)
    await stage.cluster.delete('installations', 'circle')
    await stage.cluster.waitUntilGone('circle')
    expect(await stage.cluster.phases('circle')).toEqual({})
  })
})
