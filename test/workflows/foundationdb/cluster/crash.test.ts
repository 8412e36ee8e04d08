// The worker ends at each call of a change, in each way that Temporal knows (disturbed-calls.ts). The next worker reaches the same state with the same
// effects. Source: spec/foundationdb.md 6.3 F37, 9 R22.

import { describe, expect, it } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { disturbEachCall, type Scenario } from '../../../support/foundationdb/disturbed-runs.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

/** Four process groups in three zones, so that the number of calls is small. */
const SMALL: Partial<ClusterSpec> = {
  databaseConfiguration: { storage: 3 },
  processCounts: { log: 1, stateless: -1 },
  automationOptions: { podUpdateStrategy: 'Delete' },
}
/** A recreated Pod returns to its Node. */
function threeNodes(): ClusterWorld['nodeOf'] {
  const nodes = new Map<string, string>()
  return (pod, count) => {
    const node = nodes.get(pod) ?? `node-${count % 3}`
    nodes.set(pod, node)
    return node
  }
}
async function small(change: (world: ClusterWorld) => Partial<ClusterSpec>): Promise<ClusterWorld> {
  const world = await runningCluster(SMALL, threeNodes())
  world.change(change(world))
  return world
}

const ENVIRONMENT = { name: 'foundationdb', env: [{ name: 'X', value: '1' }] }
const firstStorage = (world: ClusterWorld) => world.idsOf('storage').slice(0, 1)

/** The deletions end, so that the cluster forgets the process groups. */
async function endDeletions(world: ClusterWorld): Promise<void> {
  for (const name of world.held) world.deletePod(name)
  world.held.clear()
  await world.settle()
}

const NEXT = '7.3.43'

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'F1 creation': { begin: () => Promise.resolve(Object.assign(new ClusterWorld(SMALL), { nodeOf: threeNodes() })) },
  'F8 replacement of a coordinator': {
    begin: () => small((world) => ({ processGroupsToRemove: firstStorage(world) })),
  },
  'F13 restart for a knob': {
    begin: () => small(() => ({ processes: { general: { customParameters: ['knob_a=1'] } } })),
  },
  'F15 recreation of Pods': {
    begin: () => small(() => ({ processes: { general: { podTemplate: { spec: { containers: [ENVIRONMENT] } } } } })),
  },
  'F24 removal of a Pod whose deletion does not end': {
    async begin() {
      const world = await small((one) => ({ processGroupsToRemove: firstStorage(one) }))
      for (const id of firstStorage(world)) world.held.add(`db-${id}`)
      return world
    },
    finish: endDeletions,
  },
  // F15 has the calls after the restart.
  'F42 upgrade to another protocol': {
    begin: () => small(() => ({ version: NEXT })),
    isCovered: ({ target }) => target.status?.runningVersion === NEXT,
  },
}

/** RemovePods confirms an exclusion by a second `exclude`, which changes nothing, and repeats it if the answer is lost. Source: spec/foundationdb.md 4.5. */
const REPEATED = ['killed call exclude: exclude storage', 'unanswered call exclude: exclude storage']

describe('a worker that ends at any call', () => {
  it.each(Object.entries(SCENARIOS))('%s: repeats no effect and reaches the same result', async (_, scenario) => {
    const { differences, runs } = await disturbEachCall(scenario)
    const texts = differences.map(({ disturbance, difference }) => `${disturbance}: ${difference}`)
    expect(texts.filter((text) => !REPEATED.includes(text))).toEqual([])
    expect(runs).toBeGreaterThan(15)
  })
})
