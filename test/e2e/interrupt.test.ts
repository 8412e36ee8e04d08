// Jobs that a user ends with the annotation `interrupt`: of Installations, Executions and trees of sub-installations. Source: spec/landscaper.md 2.11.

import { describe, expect, it } from 'vitest'
import {
  execution,
  installation,
  type Item,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, exportingData, sub, subsOf, untilSub } from '../support/landscaper/sub-installations.ts'

const stage = useStage('interrupt')

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
          /^has failed or missing deploy items: slow, foreign, later; (.+: operation was interrupted(; )?){3}$/,
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

  it('ends while it waits for an orphan', async () => {
    const { cluster } = stage
    const type = 'example.org/orphan'
    const deployer = Deployer.start(cluster, type, { uninstall: () => 'wait' })
    await cluster.create(installation('orphan', [{ name: 'keep' }, { name: 'drop', type }]), 'installations')
    const first = await cluster.waitUntilFinished('orphan')
    await cluster.patch('installations', 'orphan', installation('orphan', [{ name: 'keep' }]))
    await cluster.waitUntilItems('orphan', ['drop'], (item) => item?.status?.phase === 'Deleting')
    await interrupt('orphan')
    const failed = await cluster.waitUntilFinished('orphan', first.status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.phases('orphan')).toEqual({ keep: 'Failed', drop: 'DeleteFailed' })
    expect((await cluster.get('executions', 'orphan'))?.status?.lastError?.reason).toBe('OrphanedDeployItems')
    await deployer.stop()
  })
})

describe.concurrent('an interrupt on an idle object', () => {
  it('does nothing, and does not end the next job', async () => {
    const { cluster, pawl } = stage
    await start('idle', [{ name: 'only' }], ['only'])
    const first = await cluster.waitUntilFinished('idle')
    await pawl.waitUntilSettled(first)
    const executionBefore = await cluster.get('executions', 'idle')
    const annotated = [await interrupt('idle'), await interrupt('idle', 'executions')]
    for (const object of annotated) await pawl.waitUntilSettled(object)
    expect(await cluster.get('installations', 'idle')).toEqual(annotated[0])
    expect((await cluster.get('executions', 'idle'))?.status).toEqual(executionBefore?.status)
    expect(await pawl.jobs(first)).toHaveLength(1)

    await cluster.delete('installations', 'idle')
    await cluster.waitUntilGone('idle')
    expect(await pawl.jobs(first)).toMatchObject([{ outcome: 'Succeeded' }, { outcome: 'Deleted' }])
  })

  it('that is on an execution does not end the next job of its installation', async () => {
    const { cluster, pawl } = stage
    await start('left', [{ name: 'only' }], ['only'])
    const first = await cluster.waitUntilFinished('left')
    await pawl.waitUntilSettled(await interrupt('left', 'executions'))
    await cluster.trigger('left')
    const second = await cluster.waitUntilFinished('left', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await operations('left')).toEqual([undefined, undefined])
  })
})

describe.concurrent('an execution that a user interrupts', () => {
  it('fails, and fails its installation', async () => {
    const { cluster } = stage
    await start('by-hand', [{ name: 'foreign', type: 'example.org/by-hand' }, { name: 'own' }], ['foreign'])
    await interrupt('by-hand', 'executions')
    expect((await cluster.waitUntilFinished('by-hand')).status).toMatchObject({ phase: 'Failed' })
    expect((await cluster.items('by-hand')).get('foreign')?.status?.lastError).toMatchObject(INTERRUPTED)
    expect(await operations('by-hand')).toEqual([undefined, undefined])
  })

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
  it('ends with the sub-installations that wait for a sibling, which start no item', async () => {
    const { cluster } = stage
    const slow = sub('slow', {
      exports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { ...deploying(waitingItem('item')), ...exportingData('value', '1') },
    })
    const late = sub('late', {
      imports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { imports: [{ name: 'value', type: 'data', schema: {} }], ...deploying({ name: 'a' }) },
    })
    await cluster.create(installation('half', [], { blueprint: { subinstallations: [slow, late] } }), 'installations')
    await untilSub(stage.cluster, 'half', 'slow', ({ status }) => status?.phase === 'Progressing')
    const waiter = await untilSub(stage.cluster, 'half', 'late', ({ status }) => status?.phase === 'Init')
    await interrupt('half')
    const root = await cluster.waitUntilFinished('half')
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const subs = await subsOf(cluster, 'half')
    expect([...subs.values()].map(({ status }) => status?.phase)).toEqual(['Failed', 'Failed'])
    for (const one of subs.values()) expect(one.metadata.annotations?.[OPERATION]).toBeUndefined()
    expect((await cluster.items(waiter.metadata.name)).size).toBe(0)
  })

  it('ends while it deletes a sub-installation that was removed from the blueprint', async () => {
    const { cluster } = stage
    const type = 'example.org/sub-orphan'
    const deployer = Deployer.start(cluster, type, { uninstall: () => 'wait' })
    const gone = sub('gone', { blueprint: deploying({ name: 'stays', type }) })
    await cluster.create(installation('sub-orphaned', [], { blueprint: { subinstallations: [gone] } }), 'installations')
    const first = await cluster.waitUntilFinished('sub-orphaned')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const { spec } = installation('sub-orphaned', []) as LsObject
    await cluster.patch('installations', 'sub-orphaned', {
      spec,
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
    })
    await untilSub(stage.cluster, 'sub-orphaned', 'gone', ({ status }) => status?.phase === 'Deleting')
    await interrupt('sub-orphaned')
    const second = await cluster.waitUntilFinished('sub-orphaned', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'InterruptOperation' } })
    expect((await untilSub(stage.cluster, 'sub-orphaned', 'gone', () => true)).status).toMatchObject({
      phase: 'DeleteFailed',
    })

    deployer.uninstall = () => 'done'
    await cluster.trigger('sub-orphaned')
    expect((await cluster.waitUntilFinished('sub-orphaned', second.status?.jobID)).status).toMatchObject({
      phase: 'Succeeded',
    })
    expect((await subsOf(cluster, 'sub-orphaned')).size).toBe(0)
    await deployer.stop()
  })
})

describe.concurrent('an interrupt that was left on a sub-installation', () => {
  it('does not end its deletion', async () => {
    const { cluster } = stage
    const inner = sub('inner', { blueprint: deploying({ name: 'a' }) })
    const outer = sub('outer', { blueprint: { subinstallations: [inner], ...deploying({ name: 'b' }) } })
    await cluster.create(installation('left-below', [], { blueprint: { subinstallations: [outer] } }), 'installations')
    await cluster.waitUntilFinished('left-below')
    const one = await untilSub(stage.cluster, 'left-below', 'outer', () => true)
    const two = await untilSub(stage.cluster, one.metadata.name, 'inner', () => true)
    for (const { metadata } of [one, two]) await interrupt(metadata.name)
    await cluster.delete('installations', 'left-below')
    await cluster.waitUntilGone('left-below')
  })
})
