// Scenario: many users change Installations at random for a long time while processes die. At the end nothing is left,
// and memory, open files and delays have not grown. It needs Linux and servers that the bench starts.
//
//   X1. The sampler observes the set's own bridge and worker, which run from start to end. Disruptions of Pawl's own
//       controller end a second worker, a second bridge and a backend of PostgreSQL in turn (soak/own-disruptions.ts).
//   X2. A seed determines the random choices of the users. It comes from the clock, and no flag sets it. The report
//       names it.

import { setTimeout as sleep } from 'node:timers/promises'

import type { ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { API, Cluster } from '../../support/cluster/cluster.ts'
import { diceOf } from '../../support/matrix/dice.ts'
import { Lives } from '../../support/storm/lives.ts'
import { ExtraProcesses } from '../extra-processes.ts'
import { Informer } from '../informer.ts'
import { warmUp } from '../load/measure.ts'
import { createNamespaces, removeNamespaces } from '../namespaces.ts'
import { wholeNumber } from '../options.ts'
import { type Claim, claimsTable, count, falseClaims, markdownTable } from '../report.ts'
import type { Scenario, ScenarioResult } from '../scenario.ts'
import { type Stage, withSet } from '../servers.ts'
import { sum } from '../statistics.ts'
import { JournalReader } from '../journal-reader.ts'
import { OwnDisruptions, WINGS } from '../soak/own-disruptions.ts'
import { flatnessClaims, quartersTable, Sampler } from '../soak/soak-sampler.ts'

const MINUTES = 20

export const scenario: Scenario = {
  summary: 'random creations, edits, failures and deletions while Pawl disturbs itself; nothing left, nothing grown',
  flags: { minutes: ['N', `how long users change Installations (${MINUTES}); 2 is a short form`] },
  run: (context) => withSet(context, { wings: WINGS }, runSoak),
}

const USERS = 8
const NAMESPACES = 2
const SAMPLE_MS = 10_000
const KILL_MS = 3 * 60_000
/** The number of processes that strikes end in turn (X1). A short soak also ends each of them once. */
const LEAST_KILLS = 3
/** A killed worker holds its tasks until their time-outs have passed. */
const JOB_LIMIT_MS = 120_000
const IDLE_LIMIT_MS = 120_000
const POLL_MS = 500
const MOST_SHOWN = 10
const KINDS = ['installations', 'executions', 'deployitems']

async function runSoak(stage: Stage): Promise<ScenarioResult> {
  const { kube, set, options, log } = stage
  const minutes = wholeNumber(options.values, 'minutes', MINUTES)
  const runMs = minutes * 60_000
  const seed = Date.now() % 2 ** 31
  await warmUp(stage)
  const namespaces = await createNamespaces(kube, NAMESPACES)
  const informer = await Informer.open(kube, namespaces)
  const journal = new JournalReader(set.databaseUrl)
  const processes = await ExtraProcesses.open(set)
  const ending = new AbortController()
  try {
    const strikes = await OwnDisruptions.open(stage, processes, journal)
    const sampler = await Sampler.open(set, journal, informer)
    const users = await usersOf(stage, namespaces, seed)
    const timer = setTimeout(() => ending.abort(), runMs)
    const [kills] = await Promise.all([
      strikeAgain(strikes, { everyMs: Math.min(KILL_MS, runMs / (LEAST_KILLS + 1)), signal: ending.signal, log }),
      sampler.run(SAMPLE_MS, ending.signal),
      ...users.map((user) => user.run(USERS / NAMESPACES, () => ending.signal.aborted)),
    ]).finally(() => {
      clearTimeout(timer)
      sampler.close()
    })
    const wrong = await Promise.all(users.map((user) => user.wrong()))
    log('soak: deletes all Installations')
    await Promise.all(users.map((user) => user.end()))
    const leftovers = await findLeftovers(stage, namespaces, journal)
    const failures = [...users.flatMap((user) => user.failures), ...wrong.flat()]
    const claims = [
      ...[noLeftovers(leftovers), noFailures(failures), ...(await strikes.claims())],
      ...flatnessClaims(sampler.samples),
    ]
    const head = `## Soak\n\n${minutes} minutes, ${USERS} users, seed ${seed}; ${kills} strikes: ${strikes.summary}.`
    const sections = [head, livesTable(users), quartersTable(sampler.samples), claimsTable(claims)]
    return {
      failures: [...falseClaims(claims), ...failures.slice(0, MOST_SHOWN)],
      sections: [sections.join('\n\n')],
    }
  } finally {
    ending.abort()
    await processes.stop()
    await journal.close()
    await informer.close()
    await removeNamespaces(kube, namespaces)
  }
}

/** The users of each namespace. */
async function usersOf({ set }: Stage, namespaces: readonly string[], seed: number): Promise<readonly Lives[]> {
  return await Promise.all(
    namespaces.map(async (namespace, index) => {
      const random = diceOf(seed + index)
      const lives = new Lives(new Cluster(set.kubeconfigPath, namespace), { random, limitMs: JOB_LIMIT_MS })
      await lives.prepare()
      return lives
    }),
  )
}

/** The interval between strikes, and their end. */
interface Pace {
  readonly everyMs: number
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/**
 * Strikes until the signal aborts, at least LEAST_KILLS times, and finishes the last strike. After the abort, the
 * strikes that are missing follow without a pause.
 *
 * @returns the number of strikes.
 */
async function strikeAgain(strikes: OwnDisruptions, { everyMs, signal, log }: Pace): Promise<number> {
  for (let count = 0; ; count++) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted && count >= LEAST_KILLS) return count
    log(await strikes.strike())
  }
}

/** Objects, wakes and open jobs that still exist after IDLE_LIMIT_MS. */
async function findLeftovers(
  { kube }: Stage,
  namespaces: readonly string[],
  journal: JournalReader,
): Promise<readonly string[]> {
  const findAll = async () => {
    const objects = KINDS.flatMap((plural) =>
      namespaces.map(async (namespace) => {
        const { items } = await kube.request<ObjectList>('GET', resourcePath({ apiVersion: API, plural }, namespace))
        return items.map(({ metadata }) => `${plural} ${metadata.name}`)
      }),
    )
    const { wakes, jobs } = await journal.countOpen(namespaces)
    const open = [...(wakes > 0 ? [`${wakes} wakes`] : []), ...(jobs > 0 ? [`${jobs} open jobs`] : [])]
    return [...(await Promise.all(objects)).flat(), ...open]
  }
  const deadline = performance.now() + IDLE_LIMIT_MS
  for (;;) {
    const left = await findAll()
    if (left.length === 0 || performance.now() > deadline) return left
    await sleep(POLL_MS)
  }
}

function noLeftovers(left: readonly string[]): Claim {
  const measured = left.length === 0 ? 'nothing' : `${left.length}: ${left.slice(0, MOST_SHOWN).join(', ')}`
  return { sentence: 'nothing is left: no object, no wake, no open job', measured, isTrue: left.length === 0 }
}

function noFailures(failures: readonly string[]): Claim {
  const sentence = 'no job and no change of a user is lost'
  return { sentence, measured: `${failures.length} failures`, isTrue: failures.length === 0 }
}

function livesTable(users: readonly Lives[]): string {
  const names = Object.keys(users[0]?.counts ?? {}) as (keyof Lives['counts'])[]
  const totals = names.map((name) => count(sum(users.map(({ counts }) => counts[name]))))
  return markdownTable(['Installations', ...names], [['', ...totals]])
}
