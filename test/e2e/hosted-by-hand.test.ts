// Tests a hosted Execution and a hosted item that a user deletes, interrupts or gives another job while the job of
// their Installation runs. interrupt.test.ts tests the interrupt of an Execution.
// Source: docs/adr/0023, docs/architecture.md "Hosted children", spec/landscaper.md 2.8, 2.11.

import { describe, expect, it, vi } from 'vitest'
import { installation, type Item, type LsObject, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('hosted-by-hand')

const WITH_ONE_AFTER: readonly Item[] = [waitingItem('slow'), { name: 'after', dependsOn: ['slow'] }]

/** Starts a job and waits until its host waits for the item `slow`. */
async function start(name: string, items = WITH_ONE_AFTER): Promise<LsObject> {
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

async function giveJob(plural: string, name: string, jobID: string): Promise<LsObject> {
  return await stage.cluster.patch(plural, name, { status: { jobID } }, 'status')
}

async function execution(name: string): Promise<LsObject> {
  return (await stage.cluster.get('executions', name))!
}

describe.concurrent('a hosted Execution that a user deletes', () => {
  it('finishes its job first; the next job of its Installation removes and recreates it', async () => {
    const { cluster } = stage
    const running = await start('exec-deleted')
    const before = await execution('exec-deleted')
    await cluster.delete('executions', 'exec-deleted')
    await stage.pawl.waitForHostPass(running)
    await cluster.finishItem(running, 'Succeeded')
    const first = await cluster.waitUntilFinished('exec-deleted')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const left = await execution('exec-deleted')
    expect(left.metadata).toMatchObject({ uid: before.metadata.uid, deletionTimestamp: expect.any(String) as string })
    expect(left.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: first.status?.jobID })

    await cluster.trigger('exec-deleted')
    const again = await slow('exec-deleted', (jobID) => jobID !== first.status?.jobID)
    expect(again.metadata.uid).not.toBe(running.metadata.uid)
    await cluster.finishItem(again, 'Succeeded')
    const second = await cluster.waitUntilFinished('exec-deleted', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const after = await execution('exec-deleted')
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
    const running = await start('item-deleted')
    await cluster.delete('deployitems', running.metadata.name)
    await cluster.waitUntilItems('item-deleted', ['slow'], (one) => one === undefined)
    const failed = await cluster.waitUntilFinished('item-deleted')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await execution('item-deleted')).status?.lastError).toMatchObject({
      reason: 'DeployItemsFailed',
      message: 'has failed or missing deploy items: slow',
    })
    expect(await cluster.phases('item-deleted')).toEqual({ after: undefined })

    await cluster.trigger('item-deleted')
    await cluster.finishItem(await slow('item-deleted'), 'Succeeded')
    const second = await cluster.waitUntilFinished('item-deleted', failed.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await runsOf(second)).toEqual(['installation: Failed', 'installation: Succeeded'])
    expect(await runsOf(running)).toEqual([])
  })

  it('of another deployer delays the end of the job until the deployer has uninstalled it', async () => {
    const { cluster } = stage
    const type = 'example.org/by-hand'
    const deployer = Deployer.start(cluster, type, { install: () => 'wait', uninstall: () => 'wait' })
    const running = await start('foreign-deleted', [waitingItem('slow'), { name: 'foreign', type }])
    const isTaken = (one?: LsObject) => one?.status?.phase === 'Progressing'
    const foreign = (await cluster.waitUntilItems('foreign-deleted', ['foreign'], isTaken)).get('foreign')!
    await cluster.delete('deployitems', foreign.metadata.name)
    await cluster.waitUntil('deployitems', foreign.metadata.name, (one) => one?.status?.phase === 'Deleting')
    // The host waits for the running item, and for the deployer that uninstalls the deleted item.
    await cluster.finishItem(running, 'Succeeded')
    await stage.pawl.waitForHostPass((await cluster.items('foreign-deleted')).get('slow')!)
    const root = await cluster.get('installations', 'foreign-deleted')
    expect(root?.status).toMatchObject({ phase: 'Progressing' })
    deployer.uninstall = () => 'done'
    const failed = await cluster.waitUntilFinished('foreign-deleted')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await execution('foreign-deleted')).status?.lastError?.message).toBe(
      'has failed or missing deploy items: foreign',
    )
    await deployer.stop()
  })
})

describe.concurrent('an interrupt annotation that a user adds to a hosted item', () => {
  it('has no effect: the item continues, and the job succeeds', async () => {
    const { cluster } = stage
    const running = await start('item-interrupt')
    const annotations = { [OPERATION]: 'interrupt' }
    const asked = await cluster.patch('deployitems', running.metadata.name, { metadata: { annotations } })
    await stage.pawl.waitUntilJournaled(asked)
    await cluster.finishItem(asked, 'Succeeded')
    const root = await cluster.waitUntilFinished('item-interrupt')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const left = (await cluster.items('item-interrupt')).get('slow')
    expect(left?.metadata.annotations).toMatchObject(annotations)
    expect(left?.status?.lastError).toBeUndefined()
    expect(await runsOf(root)).toEqual(['installation: Succeeded'])
  })
})

describe.concurrent('a second job ID that a user sets', () => {
  it('on a hosted Execution starts a separate job; the host waits for it, then runs its own job', async () => {
    const { cluster } = stage
    const running = await start('exec-second')
    const { jobID } = running.status ?? {}
    const given = await giveJob('executions', 'exec-second', 'by-hand')
    // The item finishes the host's job first, and then runs in the user's job.
    await untilRuns(given, ['execution'])
    await cluster.finishItem((await cluster.items('exec-second')).get('slow')!, 'Succeeded')
    const ofHand = await slow('exec-second', (id) => id === 'by-hand')
    expect((await cluster.get('installations', 'exec-second'))?.status).toMatchObject({ phase: 'Progressing', jobID })
    await cluster.finishItem(ofHand, 'Succeeded')
    const ofHost = await slow('exec-second', (id) => id === jobID)
    expect((await execution('exec-second')).status).not.toMatchObject({ jobIDFinished: jobID })
    await cluster.finishItem(ofHost, 'Succeeded')

    const root = await cluster.waitUntilFinished('exec-second')
    expect(root.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect((await execution('exec-second')).status).toMatchObject({ phase: 'Succeeded', jobIDFinished: jobID })
    expect(await cluster.phases('exec-second')).toEqual({ slow: 'Succeeded', after: 'Succeeded' })
    expect(await runsOf(root)).toEqual(['installation: Succeeded'])
    expect(await runsOf(given)).toEqual(['execution: Succeeded'])
  })

  it('on a hosted item starts a separate job; the host waits for it, then runs its own job', async () => {
    const { cluster } = stage
    const running = await start('item-second')
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
