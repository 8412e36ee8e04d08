// Objects that a user has paused: running items finish, no item or job starts, and requested jobs start after the pause. With a restart of the worker: restarts.test.ts.
// Source: spec/engine.md 5 ("pause"), docs/adr/0049.

import { describe, expect, it } from 'vitest'
import {
  execution,
  failingItem,
  installation,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'
import { createSlowTree, subsOf } from '../support/landscaper/sub-installations.ts'

const stage = useStage('paused')

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

function conditionOf({ status }: LsObject) {
  const conditions = (status?.['conditions'] ?? []) as readonly { readonly type: string }[]
  return conditions.find(({ type }) => type === 'Paused')
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
    expect(conditionOf(said)).toMatchObject({ status: 'True', message: expect.stringMatching(/: a freeze$/) as string })
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
    expect(conditionOf(await untold('idle'))).toMatchObject({ status: 'False', reason: 'Resumed' })
  })

  it('is not deleted before the pause ends', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('kept', [{ name: 'only' }]), 'installations')
    await cluster.waitUntilFinished('kept')
    await pause('kept', 'true')
    await told('kept')
    await cluster.delete('installations', 'kept')
    await pawl.waitUntilIdle((await cluster.get('installations', 'kept'))!)
    expect((await cluster.items('kept')).get('only')?.metadata.deletionTimestamp).toBeUndefined()
    await pause('kept', null)
    await cluster.waitUntilGone('kept')
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

  it('also pauses its running sub-installations, and resumes them', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/slow-below'
    const deployer = Deployer.start(cluster, type, { install: () => 'wait' })
    const { inner } = await createSlowTree(cluster, type)
    await pause('tree', 'true')
    expect(pausedOf(await told(inner))?.by).toBe(pausedOf(await told('tree'))?.by)
    deployer.install = () => 'done'
    await cluster.waitUntilItems(inner, ['begun'], (item) => item?.status?.phase === 'Succeeded')
    await pawl.waitForHostPass((await cluster.items(inner)).get('begun')!)
    expect((await cluster.items(inner)).get('held')?.status?.jobID).toBeUndefined()

    await pause('tree', null)
    expect((await cluster.waitUntilFinished('tree')).status).toMatchObject({ phase: 'Succeeded' })
    for (const one of (await subsOf(cluster, 'tree')).values())
      expect(one.metadata.annotations?.[PAUSED]).toBeUndefined()
    await deployer.stop()
  })
})

describe.concurrent('an execution that is paused', () => {
  it('starts no item before the pause ends', async () => {
    const { cluster, pawl } = stage
    await cluster.create(execution('alone', [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }]), 'executions')
    await pause('alone', 'true', 'executions')
    await told('alone', 'executions')
    const begun = await cluster.patch('executions', 'alone', { status: { jobID: 'by-hand' } }, 'status')
    await pawl.waitUntilIdle(begun)
    expect((await cluster.items('alone')).size).toBe(0)
    await pause('alone', null, 'executions')
    expect((await cluster.waitUntilFinished('alone', undefined, 'executions')).status).toMatchObject({
      phase: 'Succeeded',
    })
  })

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
