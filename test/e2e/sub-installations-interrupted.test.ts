// Interrupts in trees of sub-installations: they reach all that runs, nothing begins after them, and none outlives its job.
// Source: spec/landscaper.md 2.11.

import { describe, expect, it } from 'vitest'
import { installation, type LsObject, OPERATION, waiting } from '../support/cluster.ts'
import { Deployer } from '../support/deployer.ts'
import { useStage } from '../support/stage.ts'
import { deploying, exportingData, sub, subsOf, untilSub } from '../support/sub-installations.ts'

const stage = useStage('subs-interrupted')
const INTERRUPT = { metadata: { annotations: { [OPERATION]: 'interrupt' } } }

async function interrupt(name: string): Promise<void> {
  await stage.cluster.patch('installations', name, INTERRUPT)
}

describe.concurrent('a tree that is interrupted', () => {
  it('ends with those that wait for a sibling: they have begun nothing', async () => {
    const { cluster } = stage
    const slow = sub('slow', {
      exports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { ...deploying(waiting('item')), ...exportingData('value', '1') },
    })
    const late = sub('late', {
      imports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { imports: [{ name: 'value', type: 'data', schema: {} }], ...deploying({ name: 'a' }) },
    })
    await cluster.create(installation('half', [], { blueprint: { subinstallations: [slow, late] } }), 'installations')
    await untilSub(stage.cluster, 'half', 'slow', ({ status }) => status?.phase === 'Progressing')
    const waiter = await untilSub(stage.cluster, 'half', 'late', ({ status }) => status?.phase === 'Init')
    await interrupt('half')
    const root = await cluster.finished('half')
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const subs = await subsOf(cluster, 'half')
    expect([...subs.values()].map(({ status }) => status?.phase)).toEqual(['Failed', 'Failed'])
    for (const one of subs.values()) expect(one.metadata.annotations?.[OPERATION]).toBeUndefined()
    expect((await cluster.items(waiter.metadata.name)).size).toBe(0)
  })

  it('ends while it takes away what the blueprint no longer has', async () => {
    const { cluster } = stage
    const type = 'example.org/sub-orphan'
    const deployer = Deployer.start(cluster, type, { uninstall: () => 'wait' })
    const gone = sub('gone', { blueprint: deploying({ name: 'stays', type }) })
    await cluster.create(installation('orphaned', [], { blueprint: { subinstallations: [gone] } }), 'installations')
    const first = await cluster.finished('orphaned')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const { spec } = installation('orphaned', []) as LsObject
    await cluster.patch('installations', 'orphaned', { spec, metadata: { annotations: { [OPERATION]: 'reconcile' } } })
    await untilSub(stage.cluster, 'orphaned', 'gone', ({ status }) => status?.phase === 'Deleting')
    await interrupt('orphaned')
    const second = await cluster.finished('orphaned', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'InterruptOperation' } })
    expect((await untilSub(stage.cluster, 'orphaned', 'gone', () => true)).status).toMatchObject({
      phase: 'DeleteFailed',
    })

    deployer.uninstall = () => 'done'
    await cluster.trigger('orphaned')
    expect((await cluster.finished('orphaned', second.status?.jobID)).status).toMatchObject({ phase: 'Succeeded' })
    expect((await subsOf(cluster, 'orphaned')).size).toBe(0)
    await deployer.stop()
  })
})

describe.concurrent('an interrupt that was left on a sub-installation', () => {
  it('does not end its deletion', async () => {
    const { cluster } = stage
    const inner = sub('inner', { blueprint: deploying({ name: 'a' }) })
    const outer = sub('outer', { blueprint: { subinstallations: [inner], ...deploying({ name: 'b' }) } })
    await cluster.create(installation('left', [], { blueprint: { subinstallations: [outer] } }), 'installations')
    await cluster.finished('left')
    const one = await untilSub(stage.cluster, 'left', 'outer', () => true)
    const two = await untilSub(stage.cluster, one.metadata.name, 'inner', () => true)
    for (const { metadata } of [one, two]) await interrupt(metadata.name)
    await cluster.delete('installations', 'left')
    await cluster.gone('left')
  })
})
