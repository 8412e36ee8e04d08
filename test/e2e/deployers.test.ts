// Tests external deployers together with Pawl's own deployers, and the fields that deployers and other programs read.
// Source: spec/landscaper.md 4.9, 1.3. These fields cost no additional write (test/e2e/budgets.test.ts).

import { describe, expect, it } from 'vitest'
import { installation, type Item, type LsObject } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('deployers')
const RECONCILE_TIME = 'landscaper.gardener.cloud/reconcile-time'

describe.concurrent('items of external and of built-in types in one execution', () => {
  it('run in the order of their dependencies, pass their exports on, and are deleted in reverse', async () => {
    const { cluster } = stage
    const seen: string[] = []
    const note = (verb: string) => (it: LsObject) => {
      seen.push(`${verb} ${it.metadata.labels?.['execution.landscaper.gardener.cloud/name'] ?? ''}`)
      return 'done' as const
    }
    const type = 'example.org/mixed'
    const behaviour = { install: note('install'), uninstall: note('uninstall'), exports: { port: 80 } }
    const deployer = Deployer.start(cluster, type, behaviour)
    const items: Item[] = [
      { name: 'base' },
      { name: 'middle', type, dependsOn: ['base'] },
      { name: 'top', dependsOn: ['middle'], config: { export: { url: 'http://top' } } },
      { name: 'roof', type, dependsOn: ['top'] },
    ]
    await cluster.create(installation('mixed', items), 'installations')
    const root = await cluster.waitUntilFinished('mixed')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(seen).toEqual(['install middle', 'install roof'])
    const finished = (await cluster.get('executions', 'mixed'))?.status
    expect(finished?.['conditions']).toMatchObject([
      { type: 'Ready', status: 'True' },
      { type: 'DeployItemsFinished', status: 'True', reason: 'JobFinished' },
    ])
    const exported = await cluster.get('dataobjects', finished?.exportRef?.name ?? '')
    expect(exported?.['data']).toEqual({ middle: { port: 80 }, top: { url: 'http://top' }, roof: { port: 80 } })

    await cluster.delete('installations', 'mixed')
    await cluster.waitUntilGone('mixed')
    expect(seen.slice(2)).toEqual(['uninstall roof', 'uninstall middle'])
    await deployer.stop()
  })

  it('fail the execution when the external item fails', async () => {
    const { cluster } = stage
    const type = 'example.org/bad'
    const deployer = Deployer.start(cluster, type, { install: () => 'failed' })
    await cluster.create(
      installation('bad', [
        { name: 'bad', type },
        { name: 'next', dependsOn: ['bad'] },
      ]),
      'installations',
    )
    expect((await cluster.waitUntilFinished('bad')).status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.phases('bad')).toEqual({ bad: 'Failed', next: undefined })
    await deployer.stop()
  })
})

describe.concurrent('an item of a type without a deployer', () => {
  it('waits, and its execution names the type', async () => {
    const { cluster } = stage
    const type = 'example.org/nobody'
    await cluster.create(installation('nobody', [{ name: 'alone', type }, { name: 'own' }]), 'installations')
    await cluster.waitUntil('installations', 'nobody', (root) => root?.status?.phase === 'Progressing')
    const items = await cluster.items('nobody')
    expect(items.get('own')?.status).toMatchObject({ phase: 'Succeeded' })

    expect((await cluster.get('executions', 'nobody'))?.status).toMatchObject({
      phase: 'Progressing',
      conditions: [
        { type: 'Ready', status: 'Unknown', reason: 'Progressing' },
        { type: 'Reconciling', status: 'True', reason: 'Progressing' },
        {
          type: 'DeployItemsFinished',
          status: 'False',
          reason: 'WaitingForDeployers',
          message:
            'items whose deployers are not part of Pawl: alone (example.org/nobody); each item waits for the deployer of its type',
        },
      ],
    })
    expect(items.get('alone')?.status).toMatchObject({ jobID: items.get('own')?.status?.jobID })
    expect(items.get('alone')?.status?.phase).toBeUndefined()

    const deployer = Deployer.start(cluster, type)
    expect((await cluster.waitUntilFinished('nobody')).status).toMatchObject({ phase: 'Succeeded' })
    await deployer.stop()
  })
})

describe.concurrent('the objects of a job', () => {
  it('name the items and their deployers, and the time when each item was written', async () => {
    const { cluster } = stage
    await cluster.create(installation('wire', [{ name: 'a' }, { name: 'b' }]), 'installations')
    await cluster.waitUntilFinished('wire')
    const items = await cluster.items('wire')
    const activeDIs = ['a', 'b'].map((specName) => ({ specName, objectName: items.get(specName)?.metadata.name }))
    const execution = await cluster.get('executions', 'wire')
    expect(execution?.status?.['deployItemCache']).toEqual({ activeDIs, orphanedDIs: [] })
    for (const { status, metadata } of items.values()) {
      expect(status?.['deployer']).toMatchObject({ name: 'mock.deployer.landscaper.gardener.cloud' })
      expect(metadata.annotations?.[RECONCILE_TIME]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    }
  })
})
