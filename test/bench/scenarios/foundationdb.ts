// Scenario: the CPU time and memory of passes over reconciled FoundationDBClusters, whose objects and databases are in memory (cluster-world.ts); and the
// creation of a database (../foundationdb/creation.ts).
//
//   F1. The CPU time is that of the whole process, with the faked API server and database, so the controller needs less.
//   F2. Objects of a large cluster and of many clusters are as after their creation; a pass changes nothing.
//   F3. Memory is the heap after a collection.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import type { ClusterSpec } from '../../../workflows/foundationdb/cluster/kind.ts'
import { ClusterWorld } from '../../support/foundationdb/cluster-world.ts'
import { measureCreation } from '../foundationdb/creation.ts'
import { someOf } from '../options.ts'
import { type Claim, claimsTable, count, falseClaims, figure, markdownTable } from '../report.ts'
import type { Context, Scenario, ScenarioResult } from '../scenario.ts'
import { median } from '../statistics.ts'

const GROUPS = 500
const CLUSTERS = 100
const LONGEST_MS = 200
/** The first passes of a process compile code, and do not count. */
const WARM_UP_PASSES = 20
const ROUNDS = 5
/** The factor and the growth that other work on the machine and the compiler cause. */
const MOST_TIMES = 1.5
const MOST_GROWTH_MIB = 10
const SMALL: Partial<ClusterSpec> = { processCounts: { storage: 3, log: 2, stateless: -1 } }

const NAMES = ['passes', 'creation'] as const
const PARTS = { passes: measurePasses, creation: measureCreation }

export const scenario: Scenario = {
  summary: `FoundationDB: a pass over ${GROUPS} process groups and over ${CLUSTERS} clusters, and the creation of a database`,
  flags: { parts: ['LIST', `${NAMES.join(', ')} (all)`] },
  run: runParts,
}

async function runParts(context: Context): Promise<ScenarioResult> {
  const names = someOf(context.options.values, 'parts', NAMES)
  const results: ScenarioResult[] = []
  for (const name of names) results.push(await PARTS[name](context))
  return {
    failures: results.flatMap(({ failures }) => failures),
    sections: results.flatMap(({ sections }) => sections),
  }
}

async function measurePasses({ log, options: { runs } }: Context): Promise<ScenarioResult> {
  const large = await settled({ processCounts: { storage: GROUPS - 20, log: 10, stateless: 10 } })
  log(`foundationdb: ${large.groups.length} process groups are reconciled`)
  await passes(large, WARM_UP_PASSES)
  const largeMs = await passes(large, runs * ROUNDS)

  const one = await settled(SMALL)
  await passes(one, WARM_UP_PASSES)
  const oneMs = await passes(one, runs * CLUSTERS)
  const clusters = await Promise.all(Array.from({ length: CLUSTERS }, async () => await settled(SMALL)))
  log(`foundationdb: ${clusters.length} clusters are reconciled`)
  await rounds(clusters)
  const [before, manyMs] = [heapMiB(), [] as number[]]
  for (let run = 0; run < runs * ROUNDS; run++) manyMs.push(...(await rounds(clusters)))
  const growth = heapMiB() - before

  const times = median(manyMs) / median(oneMs)
  const claims: Claim[] = [
    claimOf(`a pass over ${count(GROUPS)} process groups takes at most ${LONGEST_MS} ms of CPU`, largeMs),
    {
      sentence: `a pass over one of ${CLUSTERS} clusters costs at most ${MOST_TIMES} times as much as over a single one`,
      measured: figure(times),
      isTrue: times <= MOST_TIMES,
    },
    {
      sentence: `${count(manyMs.length)} passes leave at most ${MOST_GROWTH_MIB} MiB`,
      measured: `${figure(growth)} MiB`,
      isTrue: growth <= MOST_GROWTH_MIB,
    },
  ]
  const rows = [
    rowOf(`${count(large.groups.length)} process groups`, largeMs),
    rowOf(`a single cluster of ${one.groups.length}`, oneMs),
    rowOf(`each of ${CLUSTERS} clusters of ${one.groups.length}`, manyMs),
  ]
  const table = markdownTable(['a pass over', 'median', 'fastest', 'slowest'], rows)
  const text = 'Milliseconds of CPU. Objects and database are in memory, and no pass changes anything.'
  return { failures: falseClaims(claims), sections: ['## Passes', text, table, claimsTable(claims)] }
}

/** F2 */
async function settled(spec: Partial<ClusterSpec>): Promise<ClusterWorld> {
  const world = new ClusterWorld(spec)
  await world.settle()
  world.takePasses()
  return world
}

/** @returns the CPU time of each pass in milliseconds (F1). @throws an Error when a pass writes. */
async function passes(world: ClusterWorld, most: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let pass = 0; pass < most; pass++) {
    const before = process.cpuUsage()
    await world.pass()
    const { user, system } = process.cpuUsage(before)
    found.push((user + system) / 1000)
  }
  const writes = world.takePasses().flatMap((course) => course.writes)
  if (writes.length > 0)
    throw new Error(`passes over a reconciled cluster: found ${writes.length} writes, expected none`)
  return found
}

async function rounds(clusters: readonly ClusterWorld[]): Promise<readonly number[]> {
  const found: number[] = []
  for (const world of clusters) found.push(...(await passes(world, 1)))
  return found
}

/** F3 */
function heapMiB(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed / 2 ** 20
}

function claimOf(sentence: string, ms: readonly number[]): Claim {
  return { sentence, measured: `${figure(median(ms))} ms`, isTrue: median(ms) <= LONGEST_MS }
}

function rowOf(name: string, ms: readonly number[]): readonly string[] {
  return [name, ...[median(ms), Math.min(...ms), Math.max(...ms)].map(figure)]
}
