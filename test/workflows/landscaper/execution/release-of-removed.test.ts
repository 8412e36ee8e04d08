// Tests DeployItems whose cluster was removed: deletions and the clean-up of orphans release them. If the state of a
// cluster is unknown, only the items of that cluster wait. Source: spec/landscaper.md 2.8.

import { describe, expect, it } from 'vitest'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { ClusteredInput, RemovedResult } from '../../../../activities/landscaper/execution/removed-clusters.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { cleanUpOrphans } from '../../../../workflows/landscaper/execution/clean-up-orphans.ts'
import { triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { done, fail, stop } from '../../../../workflows/kit/index.ts'
import { busy, executionPass, failed, leaving, pending, running, wrote } from './execution-pass.ts'

const on = (shoot: string, item: DeployItemView): DeployItemView => ({
  ...leaving(item),
  cluster: { shoot, target: shoot },
})

/** The existing and the removed Shoots. The state of all other Shoots is unknown. */
interface Garden {
  readonly there?: readonly string[]
  readonly removed?: readonly string[]
  /** The number of items that one call has time for. */
  readonly atOnce?: number
  /** The finalizers that remain on a released item. */
  readonly others?: readonly string[]
}

function deletion(
  items: readonly DeployItemView[],
  { there = [], removed = [], atOnce = items.length, others = [] }: Garden,
) {
  const asked: string[] = []
  const releaseItemsOfRemovedClusters = ({ items: given }: ClusteredInput): Promise<RemovedResult> => {
    const done = given.slice(0, atOnce)
    asked.push(...done.map(({ item = '' }) => item))
    const of = (shoots: readonly string[]) => done.filter(({ cluster }) => shoots.includes(cluster.shoot))
    const released = of(removed).map(({ name }) => name)
    const held = built.pass.state.deployItems
      .filter(({ name }) => others.length > 0 && released.includes(name))
      .map((item) => ({ ...item, finalizers: others }))
    const unknown = done.filter((one) => ![...of(there), ...of(removed)].includes(one))
    const failures = unknown.map(({ name }) => ({
      object: name,
      code: 'ClusterUnknown',
      message: 'no answer',
      retryable: true,
    }))
    return Promise.resolve({
      ...wrote(held, others.length > 0 ? [] : released),
      failures,
      there: of(there).map(({ name }) => name),
      left: given.slice(atOnce).map(({ name }) => name),
    })
  }
  const built = executionPass(items, { act: { releaseItemsOfRemovedClusters } })
  return { ...built, asked }
}

const UNKNOWN = { code: 'ClusterUnknown', message: 'exec-a: no answer', retryable: true }

describe('a deletion of items whose cluster was removed', () => {
  it('releases them at once, regardless of dependents, and calls no deployer', async () => {
    const { pass, called } = deletion([on('berry', pending('a')), on('berry', pending('b', ['a']))], {
      removed: ['berry'],
    })
    expect(await triggerDeletion(pass)).toEqual(done)
    expect(called.triggered).toEqual([])
  })

  it('uninstalls the other items', async () => {
    const items = [on('berry', pending('a')), on('cherry', pending('b')), leaving(pending('c'))]
    const { pass, called, asked } = deletion(items, { removed: ['berry'], there: ['cherry'] })
    expect(await triggerDeletion(pass)).toEqual(stop('waiting until these deploy items are uninstalled: b, c'))
    expect(asked).toEqual(['a', 'b'])
    expect(called.triggered).toEqual(['b', 'c'])
  })

  it('continues if one call has no time for all of them', async () => {
    const { pass, asked } = deletion(
      ['a', 'b', 'c'].map((name) => on('berry', pending(name))),
      { removed: ['berry'], atOnce: 2 },
    )
    expect(await triggerDeletion(pass)).toEqual(done)
    expect(asked).toEqual(['a', 'b', 'c'])
  })

  it('does not check items without a cluster, running items, and items with only finalizers of other controllers', async () => {
    const held = { ...on('berry', pending('held')), finalizers: ['theirs'] }
    const items = [leaving(pending('a')), on('berry', running('b')), on('berry', busy(pending('c'))), held]
    const { pass, called, asked } = deletion(items, {})
    expect(await triggerDeletion(pass)).toEqual(stop('waiting until these deploy items are uninstalled: a, b, c, held'))
    expect([asked, called.triggered]).toEqual([[], ['a']])
  })

  it('waits for other controllers after the release', async () => {
    const item = { ...on('berry', pending('a')), finalizers: [FINALIZER, 'theirs'] }
    const { pass, called, asked } = deletion([item], { removed: ['berry'], others: ['theirs'] })
    const waiting = stop('waiting until these deploy items are uninstalled: a')
    expect(await triggerDeletion(pass)).toEqual(waiting)
    expect(await triggerDeletion(pass)).toEqual(waiting)
    expect([asked, called.triggered]).toEqual([['a'], []])
  })
})

describe('a deletion in which the state of a cluster is unknown', () => {
  it('holds the items of that cluster, and checks again', async () => {
    const { pass, called } = deletion([on('berry', pending('a')), leaving(pending('b'))], {})
    const outcome = await triggerDeletion(pass)
    expect(outcome).toMatchObject({
      stopped: 'waiting until these deploy items are uninstalled: b, a',
      faults: [UNKNOWN],
    })
    expect(called.triggered).toEqual(['b'])
  })

  it('ends if the items have failed, as after an interrupt', async () => {
    const { pass } = deletion([on('berry', failed('a')), on('berry', pending('b'))], {})
    const found = 'Pawl could not uninstall a'
    expect(await triggerDeletion(pass)).toEqual(fail('DeployItemsNotDeleted', found))
  })

  it('releases a failed item whose cluster was removed meanwhile', async () => {
    const { pass } = deletion([on('berry', failed('a'))], { removed: ['berry'] })
    expect(await triggerDeletion(pass)).toEqual(done)
  })
})

describe('an orphan', () => {
  it('is released if its cluster was removed', async () => {
    const { pass, called } = deletion([on('berry', pending('a'))], { removed: ['berry'] })
    expect(await cleanUpOrphans(pass)).toEqual(done)
    expect(called.triggered).toEqual([])
  })

  it('is held if the state of its cluster is unknown, and the others are not', async () => {
    const { pass, called } = deletion([on('berry', pending('a')), leaving(pending('b'))], {})
    const outcome = await cleanUpOrphans(pass)
    expect(outcome).toMatchObject({
      stopped: 'waiting until these orphaned deploy items are uninstalled: a, b',
      faults: [UNKNOWN],
    })
    expect(called.triggered).toEqual(['b'])
  })

  it('that has failed is checked again', async () => {
    const { pass, called } = deletion([on('berry', failed('a')), on('cherry', failed('b'))], { removed: ['berry'] })
    const found = 'Pawl could not uninstall the orphaned deploy items b'
    expect(await cleanUpOrphans(pass)).toEqual(fail('OrphanedDeployItems', found))
    expect(called.triggered).toEqual([])
  })
})
