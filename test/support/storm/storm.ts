// Runs a storm: injects random faults while several Pawls reconcile Installations. After the last fault, checks that no
// job and no change was lost, that nothing was done twice, and that Pawl writes nothing more.

import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntilJournalIdle } from '../faults/lane.ts'
import { diceOf } from '../matrix/dice.ts'
import type { TestServers } from '../servers/servers.ts'
import { doubled, unevenJobs, untilQuiet } from './checks.ts'
import { Lives } from './lives.ts'
import { type Fault, StormLane } from './storm-lane.ts'

export interface StormOptions {
  readonly name: string
  /** Number of faults, in total over all lanes. */
  readonly faults: number
  readonly seed: number
  /** Number of Pawls that run concurrently. */
  readonly lanes: number
  /** Number of concurrent Installations in each lane. */
  readonly abreast: number
  /** A job that does not end within this time counts as lost. Long, because faults delay jobs. */
  readonly limitMs: number
  /** Average milliseconds between two faults. */
  readonly everyMs: number
  readonly log: (line: string) => void
}

export interface StormResult {
  readonly counts: ReadonlyMap<Fault, number>
  readonly lives: Readonly<Record<string, number>>
  readonly writes: number
  /** Violated checks, one sentence each. */
  readonly lost: readonly string[]
  readonly doubled: readonly string[]
  readonly unrest: readonly string[]
}

const QUIET_MS = 5000
const REST_MS = 180_000
const NEWS_EVERY = 500

interface Place {
  readonly lane: StormLane
  readonly lives: Lives
}

export async function storm(servers: TestServers, options: StormOptions): Promise<StormResult> {
  const { name, faults, seed, lanes, abreast, limitMs, log } = options
  const places: Place[] = []
  let isOver = false
  try {
    for (let index = 0; index < lanes; index++) {
      const lane = await StormLane.open(`${name}-${index}`, servers, diceOf(seed + index))
      const lives = new Lives(lane.lane.cluster, { random: diceOf(seed + 1000 + index), limitMs })
      await lives.prepare()
      places.push({ lane, lives })
    }
    const living = places.map(async ({ lives }) => await lives.run(abreast, () => isOver))
    await blow(places, options)
    await Promise.all(places.map(async ({ lane }) => await lane.calm()))
    log(`storm: ${faults} faults have struck; waiting for calm`)
    isOver = true
    await Promise.all(living)
    return await judge(places)
  } finally {
    isOver = true
    await Promise.all(places.map(async ({ lane }) => await lane.close()))
  }
}

async function blow(places: readonly Place[], { faults, seed, everyMs, log }: StormOptions): Promise<void> {
  const random = diceOf(seed + 2000)
  const struck = () => places.reduce((total, { lane }) => total + lane.struck, 0)
  for (let said = 0; struck() < faults;) {
    await sleep(random() * 2 * everyMs)
    places[Math.floor(random() * places.length)]?.lane.strike()
    if (struck() < said + NEWS_EVERY) continue
    said += NEWS_EVERY
    const failures = places.reduce((total, { lives }) => total + lives.failures.length, 0)
    log(`storm: ${struck()} of ${faults} faults, ${failures} failures`)
  }
}

async function judge(places: readonly Place[]): Promise<StormResult> {
  const unrest: string[] = []
  const [lost, twice]: [string[], string[]] = [[], []]
  for (const { lane, lives } of places) {
    const { pawl, cluster, proxy } = lane.lane
    await waitUntilJournalIdle({ pawl, cluster }, REST_MS).catch((error: unknown) => unrest.push(String(error)))
    await untilQuiet(() => proxy.writes.length, QUIET_MS, REST_MS).catch((error: unknown) => unrest.push(String(error)))
    lost.push(...lives.failures, ...(await lives.wrong()))
    twice.push(...doubled(proxy.writes), ...(await unevenJobs(pawl)))
  }
  return {
    counts: sum(places.map(({ lane }) => [...lane.counts])),
    lives: Object.fromEntries(sum(places.map(({ lives }) => Object.entries(lives.counts)))),
    writes: places.reduce((total, { lane }) => total + lane.lane.proxy.writes.length, 0),
    lost,
    doubled: twice,
    unrest,
  }
}

function sum<Name extends string>(all: readonly (readonly [Name, number][])[]): ReadonlyMap<Name, number> {
  const total = new Map<Name, number>()
  for (const [name, count] of all.flat()) total.set(name, (total.get(name) ?? 0) + count)
  return total
}
