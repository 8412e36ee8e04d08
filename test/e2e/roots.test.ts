// Tests DeployItems and Executions without a parent: users trigger them by hand, and each of their jobs is a separate
// run. Source: docs/adr/0025, spec/landscaper.md 2.2, 2.9, 4.9.

import { describe, expect, it, vi } from 'vitest'
import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import {
  API,
  CHAIN,
  execution,
  failingItem,
  FINALIZER,
  type Item,
  item,
  type LsObject,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { configMap, createTarget, manifestItem } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('roots')

async function createItem(name: string, { type, config, target }: ReturnType<typeof item> & { target?: object }) {
  const spec = { type, config, ...(target !== undefined && { target }) }
  return await stage.cluster.create({ apiVersion: API, kind: 'DeployItem', metadata: { name }, spec }, 'deployitems')
}

const createMock = async (name: string, of: Item = { name }) => await createItem(name, item(of))

async function giveJob(plural: string, name: string, jobID: string): Promise<void> {
  await stage.cluster.patch(plural, name, { status: { jobID } }, 'status')
}

const UNTOUCHED = 'deletion of what no job has touched'

/** The message of the Warning Event for a deletion that waits for a job ID. */
async function warningOf({ metadata: { uid = '' } }: LsObject): Promise<unknown> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, stage.cluster.namespace)
  const query = { fieldSelector: `involvedObject.uid=${uid},reason=DeletionWaitsForJobID` }
  return await vi.waitFor(
    async () => {
      const { items } = await stage.cluster.kube.request<ObjectList>('GET', path, { query })
      if (items.length !== 1) throw new Error(`${items.length} warnings on ${uid}`)
      return items[0]?.['message']
    },
    { timeout: 30_000, interval: 100 },
  )
}

const isGuarded = (object?: LsObject) => object?.metadata.finalizers?.includes(FINALIZER) === true

/** The runs of an object's jobs, oldest first, each as `cause: outcome, status in Temporal`. */
async function runsOf({ metadata: { uid } }: LsObject): Promise<readonly string[]> {
  const jobs = await stage.pawl.db
    .selectFrom('job')
    .select(['workflow_id', 'outcome', 'cause'])
    .where('uid', '=', uid ?? '')
    .orderBy('started_at')
    .execute()
  const { workflow } = stage.pawl.client
  return await Promise.all(
    jobs.map(async ({ workflow_id, outcome, cause }) => {
      const { status } = await workflow.getHandle(workflow_id).describe()
      return `${cause}: ${outcome}, ${status.name}`
    }),
  )
}

/** Polls, because a run closes its row in the journal before Temporal records its end. */
async function endsAs(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), { timeout: 30_000, interval: 100 })
}

describe.concurrent('a deploy item without an execution', () => {
  it('gets its finalizer when Pawl first sees it, is deployed when a user sets a job ID, and is uninstalled before its removal', async () => {
    const { cluster, pawl } = stage
    await createTarget(cluster)
    const found = async () =>
      (await cluster.list('configmaps', 'v1')).some(({ metadata }) => metadata.name === 'of-lonely')
    const manifests = [configMap('of-lonely', cluster.namespace)]
    const created = await createItem('lonely', manifestItem({ name: 'lonely', manifests }))
    const seen = await cluster.waitUntil('deployitems', 'lonely', isGuarded)
    await pawl.waitUntilSettled(seen)
    expect(await cluster.get('deployitems', 'lonely')).toEqual(seen)
    expect(seen.status).toBeUndefined()

    await giveJob('deployitems', 'lonely', 'job-1')
    const finished = await cluster.waitUntilFinished('lonely', undefined, 'deployitems')
    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'job-1' })
    expect(await found()).toBe(true)
    await pawl.waitUntilSettled(finished)
    await cluster.delete('deployitems', 'lonely')
    expect(await warningOf(finished)).toContain('its deletion begins when status.jobID is set to a new ID')
    expect(await found()).toBe(true)
    await giveJob('deployitems', 'lonely', 'job-2')
    await cluster.waitUntilGone('lonely', 'deployitems')
    expect(await found()).toBe(false)
    await endsAs(
      () => runsOf(created),
      [
        'first seen: Guarded, COMPLETED',
        'job ID in its status: Succeeded, COMPLETED',
        'job ID in its status: Deleted, COMPLETED',
      ],
    )
  })

  it('is removed by a deletion job when it never had a job', async () => {
    const { cluster, pawl } = stage
    await createMock('untouched')
    const seen = await cluster.waitUntil('deployitems', 'untouched', isGuarded)
    await pawl.waitUntilSettled(seen)
    await cluster.delete('deployitems', 'untouched')
    await cluster.waitUntilGone('untouched', 'deployitems')
    expect(await pawl.jobs(seen)).toMatchObject([{ cause: UNTOUCHED, outcome: 'Deleted' }])
  })

  it('has a failed workflow run when its job fails', async () => {
    const { cluster, pawl } = stage
    const created = await createMock('bad', failingItem('bad'))
    await pawl.waitUntilSettled(created)
    await giveJob('deployitems', 'bad', 'job-1')
    await cluster.waitUntilFinished('bad', undefined, 'deployitems')
    const last = async () => (await runsOf(created)).at(-1)
    await endsAs(last, 'job ID in its status: Failed, FAILED')
  })

  it('ends its job as Superseded when a user sets another job ID, and starts the new job', async () => {
    const { cluster } = stage
    const created = await createMock('ended', waitingItem('ended'))
    await giveJob('deployitems', 'ended', 'job-1')
    await cluster.waitUntil('deployitems', 'ended', (one) => one?.status?.phase === 'Progressing')
    await giveJob('deployitems', 'ended', 'job-2')
    const runs = async () => (await runsOf(created)).slice(-2)
    const first = 'job ID in its status: Superseded, FAILED'
    await endsAs(runs, [first, 'job ID in its status: null, RUNNING'])
    await cluster.finishItem((await cluster.get('deployitems', 'ended'))!, 'Failed')
    await endsAs(runs, [first, 'job ID in its status: Failed, FAILED'])
  })

  it('gets no finalizer when an external deployer handles its type', async () => {
    const { cluster, pawl } = stage
    const created = await createMock('theirs', { name: 'theirs', type: 'example.org/theirs' })
    await pawl.waitUntilSettled(created)
    expect(await cluster.get('deployitems', 'theirs')).toEqual(created)
  })
})

describe.concurrent('a deploy item whose execution is idle', () => {
  it('runs a job that a user starts, and later the next job of its execution', async () => {
    const { cluster, pawl } = stage
    await cluster.create(execution('rests', [{ name: 'one' }]), 'executions')
    await giveJob('executions', 'rests', 'job-1')
    await cluster.waitUntilFinished('rests', undefined, 'executions')
    const one = (await cluster.items('rests')).get('one')!
    expect(one.status).toMatchObject({ jobIDFinished: 'job-1' })

    await giveJob('deployitems', one.metadata.name, 'by-hand')
    const alone = await cluster.waitUntilFinished(one.metadata.name, 'job-1', 'deployitems')
    expect(alone.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'by-hand' })
    expect(await pawl.jobs(one)).toMatchObject([{ jobID: 'by-hand', outcome: 'Succeeded' }])

    await giveJob('executions', 'rests', 'job-2')
    await cluster.waitUntilFinished('rests', 'job-1', 'executions')
    expect((await cluster.items('rests')).get('one')?.status).toMatchObject({ jobIDFinished: 'job-2' })
    expect(await pawl.jobs(one)).toHaveLength(1)
  })
})

describe.concurrent('an execution without an installation', () => {
  it('gets its finalizer when Pawl first sees it, and is removed together with its items', async () => {
    const { cluster, pawl } = stage
    const created = await cluster.create(execution('plain', CHAIN), 'executions')
    const seen = await cluster.waitUntil('executions', 'plain', isGuarded)
    await pawl.waitUntilSettled(seen)
    expect(await cluster.get('executions', 'plain')).toEqual(seen)
    await giveJob('executions', 'plain', 'job-1')
    await cluster.waitUntilFinished('plain', undefined, 'executions')
    expect((await cluster.items('plain')).size).toBe(3)
    await pawl.waitUntilSettled(seen)
    await cluster.delete('executions', 'plain')
    expect(await warningOf(seen)).toContain('its deletion begins when status.jobID is set to a new ID')
    expect((await cluster.items('plain')).size).toBe(3)
    await giveJob('executions', 'plain', 'job-2')
    await cluster.waitUntilGone('plain', 'executions')
    expect((await cluster.items('plain')).size).toBe(0)
    await endsAs(
      () => runsOf(created),
      [
        'first seen: Guarded, COMPLETED',
        'job ID in its status: Succeeded, COMPLETED',
        'job ID in its status: Deleted, COMPLETED',
      ],
    )
  })

  it('is removed by a deletion job when it never had a job', async () => {
    const { cluster, pawl } = stage
    await cluster.create(execution('unused', CHAIN), 'executions')
    const seen = await cluster.waitUntil('executions', 'unused', isGuarded)
    // Otherwise the run that adds the finalizer may still be open and handle the deletion itself.
    await pawl.waitUntilSettled(seen)
    await cluster.delete('executions', 'unused')
    await cluster.waitUntilGone('unused', 'executions')
    await pawl.waitUntilSettled(seen)
    expect(await pawl.jobs(seen)).toMatchObject([{ cause: UNTOUCHED, outcome: 'Deleted' }])
  })
})
