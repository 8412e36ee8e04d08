// Scenario: many users change things at random for a long time while workers get killed: it ends with nothing left, and nothing grows.
//
//   X1. What is sampled are the set's own bridge and worker. A second worker is killed and comes again, so that those that are
//       sampled are the same processes from beginning to end. So is a bridge; see own-disruptions.ts for who kills them.
//   X2. The users' chance is drawn from a seed, which the report names.

import { setTimeout as sleep } from 'node:timers/promises'

import type { ObjectList } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { API } from '../support/cluster/cluster.ts'
import { diceOf } from '../support/matrix/dice.ts'
import { openNamespaces } from './bench-namespaces.ts'
import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { warmUp } from './course-of-plan.ts'
import { Crew } from './crew.ts'
import { Follower } from './follow.ts'
import { JournalReader } from './journal-reader.ts'
import { OwnDisruptions, WINGS } from './own-disruptions.ts'
import { count, markdownTable } from './markdown.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import { flatnessClaims, quartersTable, Sampler } from './soak-sampler.ts'
import { type Change, SoakUser } from './soak-user.ts'
import type { Stage } from './stage.ts'

export const soak: Scenario = {
  summary: 'creates, edits, failures and deletions at random while Pawl disturbs itself; nothing left, nothing grown',
  wings: process.platform === 'linux' ? WINGS : undefined,
  run: runSoak,
}

const USERS = 8
const NAMESPACES = 2
const SAMPLE_MS = 10_000
const KILL_MS = 3 * 60_000
/** A short soak strikes, too: each of those that can be struck. */
const LEAST_KILLS = 3
const WORKER = 'worker-2'
const REST_LIMIT_MS = 120_000
const POLL_MS = 500
const SHOWN = 10
const KINDS = ['installations', 'executions', 'deployitems']

async function runSoak(stage: Stage): Promise<ScenarioResult> {
  const { kube, set, options, say } = stage
  const runMs = options.scenarioOptions.minutes * 60_000
  const seed = Date.now() % 2 ** 31
  await warmUp(stage)
  const namespaces = await openNamespaces(stage, NAMESPACES)
  const follower = await Follower.open(kube, namespaces.names)
  const journal = new JournalReader(set.databaseUrl)
  const crew = await Crew.open(set)
  const ending = new AbortController()
  try {
    const strikes = await openStrikes(stage, crew, journal)
    const sampler = await Sampler.open(set, journal, follower)
    const users = usersOf(stage, namespaces.names, seed)
    const timer = setTimeout(() => ending.abort(), runMs)
    const [kills] = await Promise.all([
      strikeAgain(strikes, { everyMs: Math.min(KILL_MS, runMs / (LEAST_KILLS + 1)), signal: ending.signal, say }),
      sampler.run(SAMPLE_MS, ending.signal),
      ...users.map((user) => user.run(ending.signal)),
    ]).finally(() => {
      clearTimeout(timer)
      sampler.close()
    })
    say('soak: deleting all')
    await Promise.all(users.map((user) => user.leave()))
    const left = await findLeft(stage, namespaces.names, journal)
    const failures = users.flatMap((user) => user.failures)
    const claims = [
      ...[nothingLeft(left), allWell(failures), ...(await strikes.claims())],
      ...flatnessClaims(sampler.samples),
    ]
    const head = `## Soak\n\n${options.scenarioOptions.minutes} minutes, ${USERS} users, seed ${seed}; ${kills} strikes: ${strikes.summary}.`
    const sections = [head, changesTable(users), quartersTable(sampler.samples), claimsTable(claims)]
    return {
      failures: [...brokenClaims(claims), ...failures.slice(0, SHOWN)],
      report: () => [sections.join('\n\n')],
    }
  } finally {
    ending.abort()
    await crew.stop()
    await journal.close()
    await follower.close()
    await namespaces.close()
  }
}

function usersOf({ set }: Stage, namespaces: readonly string[], seed: number): readonly SoakUser[] {
  return Array.from({ length: USERS }, (_, index) => {
    const namespace = namespaces[index % namespaces.length] ?? ''
    const { kubeconfigPath } = set
    return new SoakUser({ kubeconfigPath, namespace, prefix: `user-${index}`, random: diceOf(seed + index) })
  })
}

interface Pace {
  readonly everyMs: number
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

/** What disturbs Pawl meanwhile. */
type Strikes = Pick<OwnDisruptions, 'strike' | 'claims' | 'summary'>

/** Of a set that somebody else has started only what is beside it is killed, and by us: whether it can be disturbed otherwise is not ours to know. */
async function openStrikes({ set, ...stage }: Stage, crew: Crew, journal: JournalReader): Promise<Strikes> {
  if (set.isOwn && soak.wings !== undefined) return await OwnDisruptions.open({ set, ...stage }, crew, journal)
  await crew.start(WORKER, 'worker')
  return {
    async strike() {
      await crew.kill(WORKER)
      await crew.start(WORKER, 'worker')
      return `soak: ${WORKER} was killed and is there again`
    },
    claims: () => Promise.resolve([]),
    summary: `${WORKER} was killed`,
  }
}

/** Strikes until told to end, and so often at the least; returns how often. A strike that has begun comes to its end. */
async function strikeAgain(strikes: Strikes, { everyMs, signal, say }: Pace): Promise<number> {
  for (let count = 0; ; count++) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted && count >= LEAST_KILLS) return count
    say(await strikes.strike())
  }
}

/** Objects, wakes and open jobs that are still there after a while. */
async function findLeft(
  { kube }: Stage,
  namespaces: readonly string[],
  journal: JournalReader,
): Promise<readonly string[]> {
  const look = async () => {
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
  const deadline = performance.now() + REST_LIMIT_MS
  for (;;) {
    const left = await look()
    if (left.length === 0 || performance.now() > deadline) return left
    await sleep(POLL_MS)
  }
}

function nothingLeft(left: readonly string[]): Claim {
  const found = left.length === 0 ? 'nothing' : `${left.length}: ${left.slice(0, SHOWN).join(', ')}`
  return { sentence: 'nothing is left: no object, no wake, no open job', found, isKept: left.length === 0 }
}

function allWell(failures: readonly string[]): Claim {
  const sentence = 'each job that was waited for ends as it has to'
  return { sentence, found: `${failures.length} that did not`, isKept: failures.length === 0 }
}

function changesTable(users: readonly SoakUser[]): string {
  const changes = new Map<Change, number>()
  for (const { counts } of users)
    for (const [change, times] of counts) changes.set(change, (changes.get(change) ?? 0) + times)
  const names = [...changes.keys()]
  return markdownTable(['', ...names], [['changes', ...names.map((name) => count(changes.get(name) ?? 0))]])
}
