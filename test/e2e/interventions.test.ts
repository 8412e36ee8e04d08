// Users who interfere with a running job: they interrupt it, pause it, delete one of its children, or give a child
// another job. Items that users skip or retry: one-item.test.ts. Names of users: paused-by.test.ts.
// Source: spec/landscaper.md 2.8, 2.11, spec/engine.md 5 ("pause"), docs/adr/0023, docs/adr/0049.

import { describe, expect, it, vi } from 'vitest'
import {
  execution,
  failingItem,
  installation,
  type Item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { deploying, exportingData, sub, subsOf, untilSub } from '../support/landscaper/sub-installations.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('interventions')

const INTERRUPTED = {
  operation: 'InterruptOperation',
  reason: 'InterruptOperation',
  message: 'operation was interrupted',
}
const NOBODY = 'example.org/nobody'

async function interrupt(name: string, plural = 'installations'): Promise<LsObject> {
  return await stage.cluster.patch(plural, name, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
}

/** Starts a job and waits until the items have the job ID. */
async function start(name: string, items: readonly Item[], triggered: readonly string[]): Promise<void> {
  await stage.cluster.create(installation(name, items), 'installations')
  await stage.cluster.waitUntilItems(name, triggered, (item) => item?.status?.jobID !== undefined)
}

function expectInterrupted({ status }: LsObject, jobID: string | undefined): void {
  expect(status).toMatchObject({ jobID, jobIDFinished: jobID })
  expect(status?.lastError).toMatchObject(INTERRUPTED)
  expect(status?.transitionTimes?.['finishedTime']).toMatch(/^\d{4}-/)
}

async function operations(name: string) {
  const objects = await Promise.all(
    ['installations', 'executions'].map(async (plural) => await stage.cluster.get(plural, name)),
  )
  return objects.map((object) => object?.metadata.annotations?.[OPERATION])
}

describe.concurrent('an installation whose job is interrupted', () => {
  it('fails with its execution and all unfinished items, and runs again on request', async () => {
    const { cluster, pawl } = stage
    const items = [
      { name: 'done' },
      waitingItem('slow', ['done']),
      { name: 'foreign', type: NOBODY, dependsOn: ['done'] },
      { name: 'later', dependsOn: ['slow'] },
    ]
    await start('down', items, ['slow', 'foreign'])
    await interrupt('down')
    const failed = await cluster.waitUntilFinished('down')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    expect((await cluster.get('executions', 'down'))?.status).toMatchObject({
      phase: 'Failed',
      jobIDFinished: failed.status?.jobID,
      lastError: {
        reason: 'DeployItemsFailed',
        message: expect.stringMatching(
          /^deploy items "slow", "foreign", "later" failed: (".+": operation was interrupted( \| )?){3}$/,
        ) as string,
      },
    })
    const objects = await cluster.items('down')
    expect(await cluster.phases('down')).toEqual({
      done: 'Succeeded',
      slow: 'Failed',
      foreign: 'Failed',
      later: 'Failed',
    })
    for (const name of ['slow', 'foreign', 'later']) expectInterrupted(objects.get(name)!, failed.status?.jobID)
    expect(await operations('down')).toEqual([undefined, undefined])
    await pawl.waitUntilSettled(failed)

    const mended = installation('down', [{ name: 'done' }, { name: 'slow' }, { name: 'later', dependsOn: ['slow'] }])
    await cluster.patch('installations', 'down', mended)
    const deployer = Deployer.start(cluster, NOBODY)
    const next = await cluster.waitUntilFinished('down', failed.status?.jobID)
    expect(next.status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.phases('down')).toEqual({ done: 'Succeeded', slow: 'Succeeded', later: 'Succeeded' })
    expect((await cluster.items('down')).get('slow')?.status?.lastError).toBeUndefined()
    await deployer.stop()
  })

  it('ends in DeleteFailed when it is being deleted, and is deleted in the next job', async () => {
    const { cluster } = stage
    const type = 'example.org/stays'
    const deployer = Deployer.start(cluster, type, { uninstall: () => 'wait' })
    await cluster.create(
      installation('leaving', [{ name: 'base' }, { name: 'top', type, dependsOn: ['base'] }]),
      'installations',
    )
    await cluster.waitUntilFinished('leaving')
    await cluster.delete('installations', 'leaving')
    await cluster.waitUntilItems('leaving', ['top'], (item) => item?.status?.phase === 'Deleting')
    await interrupt('leaving')
    const failed = await cluster.waitUntil('installations', 'leaving', (it) => it?.status?.phase === 'DeleteFailed')
    expect(failed.status).toMatchObject({
      jobIDFinished: failed.status?.jobID,
      lastError: { reason: 'UndeletedSubobjects' },
    })
    expect(await cluster.phases('leaving')).toEqual({ base: 'DeleteFailed', top: 'DeleteFailed' })
    expect((await cluster.items('leaving')).get('base')?.status?.lastError).toMatchObject(INTERRUPTED)
    expect(await operations('leaving')).toEqual([undefined, undefined])

    deployer.uninstall = () => 'done'
    await cluster.trigger('leaving')
    await cluster.waitUntilGone('leaving')
    await deployer.stop()
  })
})

describe.concurrent('an execution that a user interrupts', () => {
  it('ends without an installation, and the next job runs', async () => {
    const { cluster } = stage
    await cluster.create(execution('alone', [{ name: 'only', type: 'example.org/alone' }]), 'executions')
    await cluster.patch('executions', 'alone', { status: { jobID: 'one' } }, 'status')
    await cluster.waitUntilItems('alone', ['only'], (item) => item?.status?.jobID === 'one')
    await interrupt('alone', 'executions')
    const failed = await cluster.waitUntilFinished('alone', undefined, 'executions')
    expect(failed.status).toMatchObject({ phase: 'Failed', jobIDFinished: 'one' })

    // An interrupt from before the job.
    await interrupt('alone', 'executions')
    const deployer = Deployer.start(cluster, 'example.org/alone')
    await cluster.patch('executions', 'alone', { status: { jobID: 'two' } }, 'status')
    const next = await cluster.waitUntilFinished('alone', 'one', 'executions')
    expect(next.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'two' })
    await deployer.stop()
  })
})

describe.concurrent('a tree that is interrupted', () => {
  it('ends at every level; sub-installations that wait for a sibling start no item', async () => {
    const { cluster } = stage
    const inner = sub('inner', { blueprint: deploying(waitingItem('item')) })
    const slow = sub('slow', {
      exports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { subinstallations: [inner], ...exportingData('value', '1') },
    })
    const late = sub('late', {
      imports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { imports: [{ name: 'value', type: 'data', schema: {} }], ...deploying({ name: 'a' }) },
    })
    await cluster.create(installation('half', [], { blueprint: { subinstallations: [slow, late] } }), 'installations')
    const middle = await untilSub(cluster, 'half', 'slow', ({ status }) => status?.phase === 'Progressing')
    const lowest = await untilSub(cluster, middle.metadata.name, 'inner', () => true)
    await cluster.waitUntilItems(lowest.metadata.name, ['item'], (one) => one?.status?.phase === 'Progressing')
    const waiter = await untilSub(cluster, 'half', 'late', ({ status }) => status?.phase === 'Init')
    await interrupt('half')
    const root = await cluster.waitUntilFinished('half')
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const below = [
      ...(await subsOf(cluster, 'half')).values(),
      ...(await subsOf(cluster, middle.metadata.name)).values(),
    ]
    expect(below.map(({ status }) => status?.phase)).toEqual(['Failed', 'Failed', 'Failed'])
    for (const one of below) expect(one.metadata.annotations?.[OPERATION]).toBeUndefined()
    expectInterrupted((await cluster.items(lowest.metadata.name)).get('item')!, root.status?.jobID)
    expect((await cluster.items(waiter.metadata.name)).size).toBe(0)
  })
})

const PAUSED = 'landscaper.gardener.cloud/pawl-paused'

async function pause(name: string, value: string | null, plural = 'installations'): Promise<LsObject> {
  return await stage.cluster.patch(plural, name, { metadata: { annotations: { [PAUSED]: value } } })
}

async function told(name: string, plural = 'installations'): Promise<LsObject> {
  return await stage.cluster.waitUntil(plural, name, (one) => pausedOf(one) !== undefined)
}

async function untold(name: string, plural = 'installations'): Promise<LsObject> {
  return await stage.cluster.waitUntil(plural, name, (one) => one !== undefined && pausedOf(one) === undefined)
}

function pausedOf(object: LsObject | undefined) {
  return (object?.status as { readonly paused?: { readonly by: string; readonly reason: string } } | undefined)?.paused
}

describe.concurrent('a root that is paused', () => {
  it('reports the pause while it is idle, and runs the requested job after the pause', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('idle', [{ name: 'only' }]), 'installations')
    const first = await cluster.waitUntilFinished('idle')
    await pause('idle', 'a freeze')
    const said = await told('idle')
    expect(pausedOf(said)).toMatchObject({
      by: expect.stringContaining('(not verified)') as string,
      reason: 'a freeze',
    })
    expect(conditionOf(said, 'Paused')).toMatchObject({
      status: 'True',
      message: expect.stringMatching(/: a freeze$/) as string,
    })
    expect(said.status).toMatchObject({ phase: 'Succeeded', jobID: first.status?.jobID })
    await cluster.trigger('idle')
    await pawl.waitUntilIdle((await cluster.get('installations', 'idle'))!)
    expect((await cluster.get('installations', 'idle'))?.status?.jobID).toBe(first.status?.jobID)
    expect((await cluster.get('installations', 'idle'))?.metadata.annotations?.[OPERATION]).toBe('reconcile')

    await pause('idle', null)
    const second = await cluster.waitUntilFinished('idle', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(pausedOf(second)).toBeUndefined()
    await pause('idle', 'true')
    await told('idle')
    await pause('idle', 'false')
    expect(conditionOf(await untold('idle'), 'Paused')).toMatchObject({ status: 'False', reason: 'Resumed' })
  })

  it('can be interrupted', async () => {
    const { cluster } = stage
    await cluster.create(
      installation('ended', [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]),
      'installations',
    )
    await cluster.waitUntilItems('ended', ['slow'], (item) => item?.status?.jobID !== undefined)
    await pause('ended', 'true')
    await told('ended')
    await cluster.patch('installations', 'ended', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    expect((await cluster.waitUntilFinished('ended')).status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.phases('ended')).toEqual({ slow: 'Failed', next: 'Failed' })
    expect(pausedOf(await cluster.get('installations', 'ended'))).toBeDefined()
  })
})

describe.concurrent('an execution that is paused', () => {
  it('delays the job of its installation', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('host', [{ name: 'a' }, failingItem('b')]), 'installations')
    const first = await cluster.waitUntilFinished('host')
    expect(first.status).toMatchObject({ phase: 'Failed' })
    await pause('host', 'true', 'executions')
    await told('host', 'executions')
    await cluster.trigger('host')
    const held = await cluster.waitUntil('executions', 'host', (one) => one?.status?.phase === 'Init')
    await pawl.waitUntilIdle((await cluster.get('installations', 'host'))!)
    expect(held.status?.jobID).not.toBe(first.status?.jobID)
    expect((await cluster.items('host')).get('a')?.status?.jobID).toBe(first.status?.jobID)
    await pause('host', null, 'executions')
    expect((await cluster.waitUntilFinished('host', first.status?.jobID)).status).toMatchObject({ phase: 'Failed' })
  })
})

const WITH_ONE_AFTER: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }]

/** Starts a job and waits until its host waits for the item `slow`. */
async function startHosted(name: string, items = WITH_ONE_AFTER): Promise<LsObject> {
  await stage.cluster.create(installation(name, items), 'installations')
  await stage.cluster.waitUntil('installations', name, (root) => root?.status?.phase === 'Progressing')
  return await slow(name)
}

/** Waits until the item `slow` waits in a job whose ID matches; by default in any job. @returns the item. */
async function slow(name: string, is: (jobID: string | undefined) => boolean = () => true): Promise<LsObject> {
  const isWaiting = ({ status }: LsObject) =>
    status?.phase === 'Progressing' && status.jobID !== status.jobIDFinished && is(status.jobID)
  const items = await stage.cluster.waitUntilItems(name, ['slow'], (one) => one !== undefined && isWaiting(one))
  return items.get('slow')!
}

/** The runs of an object's jobs, oldest first, each as `controller: outcome`. */
async function runsOf(object: LsObject): Promise<readonly string[]> {
  await stage.pawl.waitUntilSettled(object)
  const jobs = await stage.pawl.db
    .selectFrom('job')
    .select(['controller', 'outcome'])
    .where('uid', '=', object.metadata.uid ?? '')
    .orderBy('started_at')
    .execute()
  return jobs.map(({ controller, outcome }) => `${controller}: ${outcome ?? 'open'}`)
}

async function executionOf(name: string): Promise<LsObject> {
  return (await stage.cluster.get('executions', name))!
}

async function giveJob(plural: string, name: string, jobID: string): Promise<LsObject> {
  return await stage.cluster.patch(plural, name, { status: { jobID } }, 'status')
}

describe.concurrent('a hosted Execution that a user deletes', () => {
  it('finishes its job first; the next job of its Installation removes and recreates it', async () => {
    const { cluster } = stage
    const running = await startHosted('exec-deleted')
    const before = await executionOf('exec-deleted')
    await cluster.delete('executions', 'exec-deleted')
    await stage.pawl.waitForHostPass(running)
    await cluster.finishItem(running, 'Succeeded')
    const first = await cluster.waitUntilFinished('exec-deleted')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const left = await executionOf('exec-deleted')
    expect(left.metadata).toMatchObject({ uid: before.metadata.uid, deletionTimestamp: expect.any(String) as string })
    expect(left.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: first.status?.jobID })

    await cluster.trigger('exec-deleted')
    const again = await slow('exec-deleted', (jobID) => jobID !== first.status?.jobID)
    expect(again.metadata.uid).not.toBe(running.metadata.uid)
    await cluster.finishItem(again, 'Succeeded')
    const second = await cluster.waitUntilFinished('exec-deleted', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const after = await executionOf('exec-deleted')
    expect(after.metadata.uid).not.toBe(before.metadata.uid)
    expect(after.metadata.deletionTimestamp).toBeUndefined()
    expect(await cluster.phases('exec-deleted')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(await runsOf(second)).toEqual(['installation: Succeeded', 'installation: Succeeded'])
    expect([...(await runsOf(before)), ...(await runsOf(after))]).toEqual([])
  })
})

describe.concurrent('a hosted item that a user deletes', () => {
  it('is uninstalled during the running job, which then fails; the next job recreates the item', async () => {
    const { cluster } = stage
    const running = await startHosted('item-deleted')
    await cluster.delete('deployitems', running.metadata.name)
    await cluster.waitUntilItems('item-deleted', ['slow'], (one) => one === undefined)
    const failed = await cluster.waitUntilFinished('item-deleted')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await executionOf('item-deleted')).status?.lastError).toMatchObject({
      reason: 'DeployItemsFailed',
      message: 'deploy item "slow" failed',
    })
    expect(await cluster.phases('item-deleted')).toEqual({ after: undefined })

    await cluster.trigger('item-deleted')
    await cluster.finishItem(await slow('item-deleted'), 'Succeeded')
    const second = await cluster.waitUntilFinished('item-deleted', failed.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await runsOf(second)).toEqual(['installation: Failed', 'installation: Succeeded'])
    expect(await runsOf(running)).toEqual([])
  })
})

describe.concurrent('a second job ID that a user sets', () => {
  it('on a hosted Execution starts a separate job; the host waits for it, then runs its own job', async () => {
    const { cluster } = stage
    const running = await startHosted('exec-second')
    const { jobID } = running.status ?? {}
    const given = await giveJob('executions', 'exec-second', 'by-hand')
    // The item finishes the host's job first, and then runs in the user's job.
    await untilRuns(given, ['execution'])
    await cluster.finishItem((await cluster.items('exec-second')).get('slow')!, 'Succeeded')
    const ofHand = await slow('exec-second', (id) => id === 'by-hand')
    expect((await cluster.get('installations', 'exec-second'))?.status).toMatchObject({ phase: 'Progressing', jobID })
    await cluster.finishItem(ofHand, 'Succeeded')
    const ofHost = await slow('exec-second', (id) => id === jobID)
    expect((await executionOf('exec-second')).status).not.toMatchObject({ jobIDFinished: jobID })
    await cluster.finishItem(ofHost, 'Succeeded')

    const root = await cluster.waitUntilFinished('exec-second')
    expect(root.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect((await executionOf('exec-second')).status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect(await cluster.phases('exec-second')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(await runsOf(root)).toEqual(['installation: Succeeded'])
    expect(await runsOf(given)).toEqual(['execution: Succeeded'])
  })

  it('on a hosted item starts a separate job; the host waits for it, then runs its own job', async () => {
    const { cluster } = stage
    const running = await startHosted('item-second')
    const { jobID } = running.status ?? {}
    const given = await giveJob('deployitems', running.metadata.name, 'by-hand')
    await untilRuns(given, ['deploy'])
    await cluster.finishItem(await slow('item-second', (id) => id === 'by-hand'), 'Succeeded')
    const ofHost = await slow('item-second', (id) => id === jobID)
    await cluster.finishItem(ofHost, 'Succeeded')

    const root = await cluster.waitUntilFinished('item-second')
    expect(root.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect(await cluster.phases('item-second')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(await runsOf(root)).toEqual(['installation: Succeeded'])
    // The outcome is Finished when the host gives the item its job before the item's own run reads the item.
    expect(['deploy: Succeeded', 'deploy: Finished']).toContain((await runsOf(given)).join())
  })
})

/** Waits until the object's open runs are those of these controllers. */
async function untilRuns({ metadata: { uid } }: LsObject, controllers: readonly string[]): Promise<void> {
  const open = stage.pawl.db
    .selectFrom('job')
    .select('controller')
    .where('uid', '=', uid ?? '')
    .where('outcome', 'is', null)
  const found = async () => (await open.execute()).map(({ controller }) => controller)
  await vi.waitFor(async () => expect(await found()).toEqual(controllers), { timeout: 30_000, interval: 50 })
}
