// Scenario: many users change Installations at random for a long time while processes die. At the end nothing is left,
// and memory, open files and delays have not grown. A set is the servers and the Pawl that the bench starts, or those
// of a running `pawl dev`. A strike ends one process; it restarts a bridge or worker.
//
//   X1. The sampler observes the set's own bridge and worker, which run from start to end. The strikes end a second
//       worker, a second bridge and a backend of PostgreSQL in turn (soak/own-disruptions.ts).
//   X2. A seed determines the random choices of the users. It comes from the clock, and no flag sets it. The report
//       names it.

import { setTimeout as sleep } from 'node:timers/promises'

import type { ObjectList } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { API } from '../../support/cluster/cluster.ts'
import { diceOf } from '../../support/matrix/dice.ts'
import { ExtraProcesses } from '../extra-processes.ts'
import { Informer } from '../informer.ts'
import { warmUp } from '../load/measure.ts'
import { createNamespaces, removeNamespaces } from '../namespaces.ts'
import { wholeNumber } from '../options.ts'
import { type Claim, claimsTable, count, falseClaims, markdownTable } from '../report.ts'
import type { Scenario, ScenarioResult } from '../scenario.ts'
import { type Stage, withSet } from '../servers.ts'
import { JournalReader } from '../soak/journal-reader.ts'
import { OwnDisruptions, WINGS } from '../soak/own-disruptions.ts'
import { flatnessClaims, quartersTable, Sampler } from '../soak/soak-sampler.ts'
import { type Change, SoakUser } from '../soak/soak-user.ts'

const MINUTES = 20
/** Disruptions of processes need Linux. Undefined: the default wings of `pawl dev`. */
const SOAK_WINGS = process.platform === 'linux' ? WINGS : undefined

export const scenario: Scenario = {
  summary: 'random creations, edits, failures and deletions while Pawl disturbs itself; nothing left, nothing grown',
  flags: { minutes: ['N', `how long users change Installations (${MINUTES}); 2 is a short form`] },
  run: (context) => withSet(context, { wings: SOAK_WINGS }, runSoak),
}

const USERS = 8
const NAMESPACES = 2
const SAMPLE_MS = 10_000
const KILL_MS = 3 * 60_000
/** The number of processes that strikes end in turn (X1). A short soak also ends each of them once. */
const LEAST_KILLS = 3
const WORKER = 'worker-2'
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
    const strikes = await openStrikes(stage, processes, journal)
    const sampler = await Sampler.open(set, journal, informer)
    const users = usersOf(stage, namespaces, seed)
    const timer = setTimeout(() => ending.abort(), runMs)
    const [kills] = await Promise.all([
      strikeAgain(strikes, { everyMs: Math.min(KILL_MS, runMs / (LEAST_KILLS + 1)), signal: ending.signal, log }),
      sampler.run(SAMPLE_MS, ending.signal),
      ...users.map((user) => user.run(ending.signal)),
    ]).finally(() => {
      clearTimeout(timer)
      sampler.close()
    })
    log('soak: deletes all Installations')
    await Promise.all(users.map((user) => user.deleteAll()))
    const leftovers = await findLeftovers(stage, namespaces, journal)
    const failures = users.flatMap((user) => user.failures)
    const claims = [
      ...[noLeftovers(leftovers), noFailures(failures), ...(await strikes.claims())],
      ...flatnessClaims(sampler.samples),
    ]
    const head = `## Soak\n\n${minutes} minutes, ${USERS} users, seed ${seed}; ${kills} strikes: ${strikes.summary}.`
    const sections = [head, changesTable(users), quartersTable(sampler.samples), claimsTable(claims)]
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

function usersOf({ set }: Stage, namespaces: readonly string[], seed: number): readonly SoakUser[] {
  return Array.from({ length: USERS }, (_, index) => {
    const namespace = namespaces[index % namespaces.length] ?? ''
    const { kubeconfigPath } = set
    return new SoakUser({ kubeconfigPath, namespace, prefix: `user-${index}`, random: diceOf(seed + index) })
  })
}

/** The interval between strikes, and their end. */
interface Pace {
  readonly everyMs: number
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

type Strikes = Pick<OwnDisruptions, 'strike' | 'claims' | 'summary'>

/**
 * Strikes by Disruptions (X1) if the bench started the set (`isOwn`). In a running `pawl dev`, the controllers of
 * Disruptions may be disabled. There the soak only kills a second worker.
 */
async function openStrikes(stage: Stage, processes: ExtraProcesses, journal: JournalReader): Promise<Strikes> {
  if (stage.set.isOwn && SOAK_WINGS !== undefined) return await OwnDisruptions.open(stage, processes, journal)
  await processes.start(WORKER, 'worker')
  return {
    async strike() {
      await processes.kill(WORKER)
      await processes.start(WORKER, 'worker')
      return `soak: ${WORKER} was killed and started again`
    },
    claims: () => Promise.resolve([]),
    summary: `${WORKER} was killed`,
  }
}

/**
 * Strikes until the signal aborts, at least LEAST_KILLS times, and finishes the last strike. After the abort, the
 * strikes that are missing follow without a pause.
 *
 * @returns the number of strikes.
 */
async function strikeAgain(strikes: Strikes, { everyMs, signal, log }: Pace): Promise<number> {
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
  const sentence = 'each job that a user waits for ends in the expected phase'
  return { sentence, measured: `${failures.length} failures`, isTrue: failures.length === 0 }
}

function changesTable(users: readonly SoakUser[]): string {
  const changes = new Map<Change, number>()
  for (const { counts } of users)
    for (const [change, times] of counts) changes.set(change, (changes.get(change) ?? 0) + times)
  const names = [...changes.keys()]
  return markdownTable(['', ...names], [['changes', ...names.map((name) => count(changes.get(name) ?? 0))]])
}
