// Fields of the original's status and metadata that programs beside it read. They cost no write of their own: test/e2e/budgets.test.ts.

import { describe, expect, it } from 'vitest'

import { installation } from '../support/cluster.ts'
import { useStage } from '../support/stage.ts'

const stage = useStage('wire-status')
const RECONCILE_TIME = 'landscaper.gardener.cloud/reconcile-time'

describe('what a job writes of an execution and its items', () => {
  const timesOf = async (name: string) => {
    const items = await stage.cluster.items(name)
    return new Map([...items].map(([item, { metadata }]) => [item, metadata.annotations?.[RECONCILE_TIME]]))
  }

  it('names the objects of items, the deployers in full, and when the items were written', async () => {
    await stage.cluster.create(installation('wire', [{ name: 'a' }, { name: 'b' }]), 'installations')
    await stage.cluster.finished('wire')
    const items = await stage.cluster.items('wire')
    const objectName = (item: string) => items.get(item)?.metadata.name
    const execution = await stage.cluster.get('executions', 'wire')
    expect(execution?.status?.['deployItemCache']).toEqual({
      activeDIs: ['a', 'b'].map((specName) => ({ specName, objectName: objectName(specName) })),
      orphanedDIs: [],
    })
    expect(items.get('a')?.status?.['deployer']).toMatchObject({ name: 'mock.deployer.landscaper.gardener.cloud' })
    const before = await timesOf('wire')
    for (const time of before.values()) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })
})
