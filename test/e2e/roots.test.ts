// Roots: DeployItems and Executions without a parent, each of whose jobs a user starts, and Installations that import
// from each other: the root that waits, the root that starts another one at its end, and the order of deletion.
// Activities: test/env/root-siblings.test.ts.
// Source: docs/adr/0025, spec/landscaper.md 2.2, 2.3, 2.4, 2.6, 2.9, 2.14, 4.9, appendix B 4, 7, 30.

import { describe, expect, it, vi } from 'vitest'
import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import {
  API,
  CHAIN,
  execution,
  FINALIZER,
  item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { configMap, createTarget, manifestItem } from '../support/landscaper/manifests.ts'
import { root } from '../support/landscaper/roots.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('roots')

async function createItem(name: string, { type, config, target }: ReturnType<typeof item> & { target?: object }) {
  const spec = { type, config, ...(target !== undefined && { target }) }
  return await stage.cluster.create({ apiVersion: API, kind: 'DeployItem', metadata: { name }, spec }, 'deployitems')
}

async function giveJob(plural: string, name: string, jobID: string): Promise<void> {
  await stage.cluster.patch(plural, name, { status: { jobID } }, 'status')
}

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
    expect(await warningOf(finished)).toContain('its deletion waits for a job; set a new job ID to uninstall it')
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

  it('ends its job as Superseded when a user sets another job ID, and starts the new job', async () => {
    const { cluster } = stage
    const created = await createItem('ended', item(waitingItem('ended')))
    await giveJob('deployitems', 'ended', 'job-1')
    await cluster.waitUntil('deployitems', 'ended', (one) => one?.status?.phase === 'Progressing')
    await giveJob('deployitems', 'ended', 'job-2')
    const runs = async () => (await runsOf(created)).slice(-2)
    const first = 'job ID in its status: Superseded, FAILED'
    await endsAs(runs, [first, 'job ID in its status: null, RUNNING'])
    await cluster.finishItem((await cluster.get('deployitems', 'ended'))!, 'Failed')
    await endsAs(runs, [first, 'job ID in its status: Failed, FAILED'])
  })

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
    expect(await warningOf(seen)).toContain('its deletion waits for a job; set a new job ID to uninstall it')
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
    const cause = 'deletion of what no job has touched'
    expect(await pawl.jobs(seen)).toMatchObject([{ cause, outcome: 'Deleted' }])
  })
})

const WAITS = 'WaitsForSiblings'
const IGNORE_SUCCESSORS = 'landscaper.gardener.cloud/delete-ignore-successors'

const make = async (object: ReturnType<typeof root>) => await stage.cluster.create(object, 'installations')
const jobOf = (one: LsObject | undefined) => one?.status?.jobID
const runs = (one: LsObject | undefined) => jobOf(one) !== undefined && jobOf(one) !== one?.status?.jobIDFinished
const until = async (name: string, isSo: (one: LsObject | undefined) => boolean) =>
  await stage.cluster.waitUntil('installations', name, isSo)
/** Finishes the item `hold`, which keeps a job open. */
async function release(name: string, phase: 'Succeeded' | 'Failed' = 'Succeeded') {
  const items = await stage.cluster.waitUntilItems(name, ['hold'], (one) => one?.status?.phase === 'Progressing')
  const item = items.get('hold')
  if (item === undefined) throw new Error(`${name} has no item that holds it`)
  await stage.cluster.finishItem(item, phase)
}
/** The names of the deleted Installations with this prefix, in the order of their deletions. */
async function deleted(prefix: string): Promise<readonly string[]> {
  const rows = await stage.pawl.db
    .selectFrom('watch_event')
    .select('name')
    .where('kind', '=', 'Installation')
    .where('type', '=', 'DELETED')
    .where('name', 'like', `${prefix}%`)
    .orderBy('seq')
    .execute()
  // The journal may get a deletion twice: from the run that deletes the object, and from the watch.
  return [...new Set(rows.map(({ name }) => name))]
}
const valueOf = async (name: string) => (await stage.cluster.get('dataobjects', name))?.['data']

describe.concurrent('a root that imports data of another root', () => {
  it('waits in Init while the exporting root runs, and continues when the exporting root has ended', async () => {
    await make(root('w-db', { gives: 'w-address', items: [waitingItem('hold')] }))
    await until('w-db', runs)
    await make(root('w-app', { takes: ['w-address'], gives: 'w-link' }))
    const told = await until('w-app', (one) => conditionOf(one, WAITS) !== undefined)
    expect(conditionOf(told, WAITS)).toMatchObject({
      status: 'True',
      message: 'waiting for siblings whose exports it imports: w-db',
    })
    await stage.cluster.waitUntilItems('w-db', ['hold'], (one) => one?.status?.phase === 'Progressing')
    expect((await stage.cluster.get('installations', 'w-app'))?.status).toMatchObject({ phase: 'Init' })
    await release('w-db')
    const ended = await until('w-app', (one) => one?.status?.phase === 'Succeeded')
    // The condition is missing when the end of w-db has already started another job of w-app.
    expect(conditionOf(ended, WAITS)?.status ?? 'False').toBe('False')
    expect(await valueOf('w-link')).toBe('w-app w-db')
  })

  it('fails at once when the exporting root has never run, and is started when the exporting root ends', async () => {
    await make(root('n-db', { gives: 'n-address', triggered: false }))
    await make(root('n-app', { takes: ['n-address'], gives: 'n-link' }))
    const first = await stage.cluster.waitUntilFinished('n-app')
    expect(first.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'NotCompletedDependents' } })
    expect(first.status?.lastError?.message).toContain('n-db has never run')
    await stage.cluster.trigger('n-db')
    const second = await stage.cluster.waitUntilFinished('n-app', jobOf(first))
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await valueOf('n-link')).toBe('n-app n-db')
    const db = await stage.cluster.waitUntilFinished('n-db')
    expect(db.status?.['dependentsToTrigger']).toBeUndefined()
  })

  it('keeps the request for its next job when the exporting root ends during its current job', async () => {
    await make(root('k-db', { gives: 'k-address' }))
    await stage.cluster.waitUntilFinished('k-db')
    await make(root('k-app', { takes: ['k-address'], items: [waitingItem('hold')] }))
    await stage.cluster.waitUntilItems('k-app', ['hold'], (one) => one?.status?.phase === 'Progressing')
    const first = jobOf(await stage.cluster.get('installations', 'k-app'))
    await stage.cluster.trigger('k-db')
    const asked = await until('k-app', (one) => one?.metadata.annotations?.[OPERATION] === 'reconcile')
    expect(jobOf(asked)).toBe(first)
    await release('k-app')
    await until('k-app', (one) => jobOf(one) !== first && one?.metadata.annotations?.[OPERATION] === undefined)
    await release('k-app')
    expect((await stage.cluster.waitUntilFinished('k-app', first)).status).toMatchObject({ phase: 'Succeeded' })
  })

  it('is not started by a root with hasNoSiblingExports; with hasNoSiblingImports it still starts the roots that import from it', async () => {
    await make(root('p-db', { gives: 'p-address', optimization: { hasNoSiblingExports: true } }))
    const db = await stage.cluster.waitUntilFinished('p-db')
    const alone = { hasNoSiblingImports: true }
    await make(root('p-app', { takes: ['p-address'], gives: 'p-link', optimization: alone }))
    const app = await stage.cluster.waitUntilFinished('p-app')
    await make(root('p-end', { takes: ['p-link'] }))
    const end = await stage.cluster.waitUntilFinished('p-end')
    await stage.cluster.trigger('p-db')
    // A root requests the jobs of importing roots before its own job ends.
    await stage.pawl.waitUntilSettled(await stage.cluster.waitUntilFinished('p-db', jobOf(db)))
    const untouched = await stage.cluster.get('installations', 'p-app')
    expect([jobOf(untouched), untouched?.metadata.annotations?.[OPERATION]]).toEqual([jobOf(app), undefined])
    await stage.cluster.trigger('p-app')
    // p-app requests this job at its end.
    await stage.cluster.waitUntilFinished('p-end', jobOf(end))
  })
})

describe.concurrent('roots that are being deleted', () => {
  it('are removed in the order of their imports, importing roots first', async () => {
    // One after the other, so that no root starts a job of another root at its end.
    await make(root('d-db', { gives: 'd-address' }))
    await stage.cluster.waitUntilFinished('d-db')
    await make(root('d-app', { takes: ['d-address'], gives: 'd-link' }))
    await stage.cluster.waitUntilFinished('d-app')
    await make(root('d-web', { takes: ['d-link'] }))
    await stage.cluster.waitUntilFinished('d-web')
    for (const name of ['d-db', 'd-app']) await stage.cluster.delete('installations', name)
    await until('d-db', (one) => one?.status?.phase === 'InitDelete')
    await until('d-app', (one) => one?.status?.phase === 'InitDelete')
    await stage.cluster.delete('installations', 'd-web')
    for (const name of ['d-web', 'd-app', 'd-db']) await stage.cluster.waitUntilGone(name)
    // The journal may be a moment behind the API server.
    await vi.waitFor(async () => expect(await deleted('d-')).toHaveLength(3), { timeout: 60_000, interval: 100 })
    expect(await deleted('d-')).toEqual(['d-web', 'd-app', 'd-db'])
  })

  it('do not wait for importing roots when they have the annotation delete-ignore-successors', async () => {
    await make(root('i-db', { gives: 'i-address' }))
    await stage.cluster.waitUntilFinished('i-db')
    await make(root('i-app', { takes: ['i-address'] }))
    await stage.cluster.waitUntilFinished('i-app')
    await stage.cluster.delete('installations', 'i-db')
    await until('i-db', (one) => one?.status?.phase === 'InitDelete')
    await stage.cluster.patch('installations', 'i-db', { metadata: { annotations: { [IGNORE_SUCCESSORS]: 'true' } } })
    await stage.cluster.waitUntilGone('i-db')
    expect((await stage.cluster.get('installations', 'i-app'))?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('are removed although one root waits for the job of another root', async () => {
    await make(root('e-db', { gives: 'e-address', items: [waitingItem('hold')] }))
    await until('e-db', runs)
    await make(root('e-app', { takes: ['e-address'] }))
    await until('e-app', (one) => one?.status?.phase === 'Init')
    for (const name of ['e-db', 'e-app']) await stage.cluster.delete('installations', name)
    await release('e-db')
    for (const name of ['e-db', 'e-app']) await stage.cluster.waitUntilGone(name)
  })
})
