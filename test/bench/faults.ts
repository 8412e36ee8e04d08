// Scenario: thousands of random faults while Installations are created, changed, interrupted and deleted. At the end nothing is lost, nothing was doubled, and
// it is quiet. What strikes, and how it is judged, is in test/support/storm/storm.ts; the suite has a short form of it.
//
//   X1. Chance is drawn from a seed, which the report names. It repeats the faults and the changes, not the moments at which they meet.

import { openServers } from '../support/servers/servers.ts'
import { storm, type StormResult } from '../support/storm/storm.ts'
import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { count, markdownTable } from './markdown.ts'
import type { Options } from './options.ts'
import type { Say } from './progress.ts'
import type { LoneScenario, ScenarioResult } from './scenario.ts'

export const faults: LoneScenario = {
  summary: 'thousands of random faults of all servers and processes; nothing lost, nothing doubled, quiet at the end',
  runAlone: runFaults,
}

const ABREAST = 6
const EVERY_MS = 40
const SHOWN = 10
/** A sentence may quote a whole object. */
const MOST_CHARACTERS = 300

async function runFaults({ scenarioOptions }: Options, say: Say): Promise<ScenarioResult> {
  const { faults: wanted, lanes } = scenarioOptions
  const seed = scenarioOptions.seed ?? 1 + (Date.now() % 2 ** 31)
  say(`faults: ${wanted}, seed ${seed}`)
  const { servers, close } = await openServers()
  try {
    const begunAt = performance.now()
    const options = { name: 'faults', faults: wanted, seed, lanes, abreast: ABREAST, everyMs: EVERY_MS, say }
    const result = await storm(servers, options)
    const minutes = ((performance.now() - begunAt) / 60_000).toFixed(1)
    const claims = claimsOf(result)
    const struck = [...result.counts.values()].reduce((total, one) => total + one, 0)
    const head = `## Faults\n\n${count(struck)} faults in ${minutes} minutes, ${lanes} Pawls, seed ${seed}; ${count(result.writes)} writes of the workers.`
    return {
      failures: brokenClaims(claims),
      report: () => [[head, faultsTable(result), livesTable(result), claimsTable(claims)].join('\n\n')],
    }
  } finally {
    await close()
  }
}

function claimsOf({ lost, doubled, unrest }: StormResult): readonly Claim[] {
  return [
    claimOf('nothing is lost: every Installation stands as it was last written', lost),
    claimOf('nothing is doubled: no name created twice, no job ended twice, one row for each job', doubled),
    claimOf('it is quiet: no wake, no open run, no write for some seconds', unrest),
  ]
}

function claimOf(sentence: string, wrong: readonly string[]): Claim {
  const found =
    wrong.length === 0
      ? 'nothing else'
      : `${wrong.length}: ${wrong
          .slice(0, SHOWN)
          .map((one) => one.slice(0, MOST_CHARACTERS))
          .join('; ')}`
  return { sentence, found, isKept: wrong.length === 0 }
}

function faultsTable({ counts }: StormResult): string {
  return markdownTable(
    ['fault', 'times'],
    [...counts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([fault, times]) => [fault, count(times)]),
  )
}

function livesTable({ lives }: StormResult): string {
  const names = Object.keys(lives)
  return markdownTable(['Installations', ...names], [['', ...names.map((name) => count(lives[name] ?? 0))]])
}
