// The time from `kubectl apply` of a FoundationDBCluster to the available database, compared with a database that is created by hand, and the costs of the
// cluster afterwards.
//
//   C1. Each run measures both ways one after the other, never at the same time, so that both have the whole machine.
//   C2. The first run of both does not count: it compiles code and fills caches.

import { findTools } from '../../../activities/foundationdb/database/tools.ts'
import { BACKEND } from '../../support/foundationdb/backend.ts'
import { type LoggedTools, logTools } from '../../support/foundationdb/logged-tools.ts'
import { createNamespaces, removeNamespaces } from '../namespaces.ts'
import { type Claim, claimsTable, falseClaims, markdownTable, seconds, times } from '../report.ts'
import type { Context, ScenarioResult } from '../scenario.ts'
import { type Stage, withSet } from '../servers.ts'
import { median } from '../statistics.ts'
import { createByHand, type HandTimes } from './by-hand.ts'
import { readPlan } from './plan.ts'
import { createWithPawl, GOAL_NAMES, type IdleCosts, observeIdle, type PawlTimes, readWrites } from './with-pawl.ts'

const MOST_TIMES = 1.5

interface Pair {
  readonly hand: HandTimes
  readonly pawl: PawlTimes
}

interface LastRun {
  readonly idle: IdleCosts
  readonly writes: Awaited<ReturnType<typeof readWrites>>
}

export async function measureCreation(context: Context): Promise<ScenarioResult> {
  context.log(`foundationdb: ${BACKEND.note}`)
  const tools = logTools([readPlan().version])
  try {
    const needs = { wings: 'foundationdb', wingFlags: { 'fdb-bin': tools.folder } }
    return await withSet(context, needs, async (stage) => await compare(stage, tools))
  } finally {
    tools.remove()
  }
}

async function compare(stage: Stage, tools: LoggedTools): Promise<ScenarioResult> {
  const { options, log } = stage
  // C2
  if (options.warmUp) await measurePair(stage, tools, () => Promise.resolve())
  const pairs: Pair[] = []
  let last: LastRun | undefined
  for (let run = 1; run <= options.runs; run++) {
    const { hand, pawl } = await measurePair(stage, tools, async (namespace, { appliedAt }) => {
      if (run < options.runs) return
      const writes = await readWrites(stage, namespace, appliedAt)
      log('foundationdb: observes the reconciled cluster')
      last = { writes, idle: await observeIdle(stage, namespace, () => tools.commands('status json').length) }
    })
    pairs.push({ hand, pawl })
    log(`foundationdb: run ${run}: ${seconds(hand.availableMs)} s by hand, ${seconds(pawl.totalMs)} s with Pawl`)
  }
  return report(pairs, last)
}

/** C1. @param afterwards runs while the cluster of Pawl exists. */
async function measurePair(
  stage: Stage,
  tools: LoggedTools,
  afterwards: (namespace: string, pawl: PawlTimes) => Promise<void>,
): Promise<Pair> {
  const { kube, signal, options } = stage
  const plan = readPlan()
  const { timeoutMs } = options
  const hand = await createByHand(plan, { tools: findTools(tools.folder, process.env), timeoutMs, signal })
  const namespaces = await createNamespaces(kube, 1)
  try {
    const [namespace = ''] = namespaces
    const pawl = await createWithPawl(stage, namespace, plan.classes.length)
    await afterwards(namespace, pawl)
    return { hand, pawl }
  } finally {
    await removeNamespaces(kube, namespaces)
  }
}

function report(pairs: readonly Pair[], last: LastRun | undefined): ScenarioResult {
  const handMs = pairs.map(({ hand }) => hand.availableMs)
  const pawlMs = pairs.map(({ pawl }) => pawl.totalMs)
  const ratio = median(pawlMs) / median(handMs)
  const claims: Claim[] = [
    {
      sentence: `from \`kubectl apply\` to reconciled and Available takes at most ${MOST_TIMES} times as long as by hand`,
      measured: times(median(pawlMs), median(handMs)),
      isTrue: ratio <= MOST_TIMES,
    },
    ...(last === undefined ? [] : idleClaims(last.idle)),
  ]
  const row = (name: string, ms: readonly number[]) => [
    name,
    ...[median(ms), Math.min(...ms), Math.max(...ms)].map(seconds),
  ]
  const rows = [
    row(
      'by hand: `configure new` has ended',
      pairs.map(({ hand }) => hand.configuredMs),
    ),
    row('by hand: the database is available', handMs),
    ...GOAL_NAMES.map((name) =>
      row(
        `Pawl: ${name}`,
        pairs.map(({ pawl }) => pawl.goals.get(name) ?? NaN),
      ),
    ),
  ]
  const table = markdownTable(['seconds since the start, until', 'median', 'fastest', 'slowest'], rows)
  const text = `Backend: ${BACKEND.note}. By hand, neither fdbmonitor nor a sidecar runs.`
  const profile = ratio <= MOST_TIMES || last === undefined ? [] : [profileOf(last)]
  return { failures: falseClaims(claims), sections: ['## Creation', text, table, ...profile, claimsTable(claims)] }
}

function idleClaims({ writes, statusReads }: IdleCosts): readonly Claim[] {
  const found = Object.entries(writes).map(([what, count]) => `${count} ${what}`)
  return [
    {
      sentence: 'a reconciled, untouched cluster causes no API write in a minute',
      measured: found.length === 0 ? 'none' : found.join(', '),
      isTrue: found.length === 0,
    },
    {
      sentence: 'it causes at most one `status json` in that minute, the interval of the resync',
      measured: String(statusReads),
      isTrue: statusReads <= 1,
    },
  ]
}

function profileOf({ writes }: LastRun): string {
  const rows = writes.map(([what, firstMs, lastMs]) => [what, seconds(firstMs), seconds(lastMs)])
  return markdownTable(['writes of the last run, in seconds since `kubectl apply`', 'from', 'to'], rows)
}
