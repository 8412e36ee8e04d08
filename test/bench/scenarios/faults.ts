// Scenario: thousands of random faults while users create, change, interrupt and delete Installations. At the end nothing is lost, no write was repeated, and
// nothing runs. test/support/storm/storm.ts has the faults and the checks; test/e2e/storm.test.ts is the short form.
//
//   X1. A seed determines faults and changes, but not their order in time. The report names it.

import { openServers } from '../../support/servers/servers.ts'
import { storm, type StormResult } from '../../support/storm/storm.ts'
import { wholeNumber } from '../options.ts'
import { type Claim, claimsTable, count, falseClaims, markdownTable } from '../report.ts'
import type { Context, Scenario, ScenarioResult } from '../scenario.ts'

const FAULTS = 10_000
const LANES = 2

export const scenario: Scenario = {
  summary: 'thousands of random faults of all servers and processes; nothing lost, nothing repeated, idle at the end',
  flags: {
    faults: ['N', `number of faults (${FAULTS})`],
    seed: ['N', 'repeats the random choices of a run (a new seed)'],
    lanes: ['N', `number of Pawls in parallel (${LANES})`],
  },
  run: runFaults,
}

const ABREAST = 6
const EVERY_MS = 40
const MOST_SHOWN = 10
/** A sentence may contain a whole object. */
const MOST_CHARACTERS = 300

async function runFaults({ options, log, interrupted }: Context): Promise<ScenarioResult> {
  const faults = wholeNumber(options.values, 'faults', FAULTS)
  const lanes = wholeNumber(options.values, 'lanes', LANES)
  const seed = wholeNumber(options.values, 'seed', 1 + (Date.now() % 2 ** 31))
  log(`faults: ${faults}, seed ${seed}`)
  const { servers, close } = await openServers()
  try {
    const startedAt = performance.now()
    const how = { name: 'faults', faults, seed, lanes, abreast: ABREAST, everyMs: EVERY_MS, log }
    const result = await Promise.race([storm(servers, how), interrupted])
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
    const claims = claimsOf(result)
    const struck = [...result.counts.values()].reduce((total, one) => total + one, 0)
    const head = `## Faults\n\n${count(struck)} faults in ${minutes} minutes, ${lanes} Pawls, seed ${seed}; ${count(result.writes)} writes of the workers.`
    return {
      failures: falseClaims(claims),
      sections: [[head, faultsTable(result), livesTable(result), claimsTable(claims)].join('\n\n')],
    }
  } finally {
    await close()
  }
}

function claimsOf({ lost, doubled, unrest }: StormResult): readonly Claim[] {
  return [
    claimOf('nothing is lost: every Installation matches its last change', lost),
    claimOf('nothing is repeated: no name created twice, no job ended twice, one row for each job', doubled),
    claimOf('nothing runs at the end: no wake, no open run, no write for some seconds', unrest),
  ]
}

function claimOf(sentence: string, wrong: readonly string[]): Claim {
  const shown = wrong.slice(0, MOST_SHOWN).map((one) => one.slice(0, MOST_CHARACTERS))
  const measured = wrong.length === 0 ? 'no exception' : `${wrong.length}: ${shown.join('; ')}`
  return { sentence, measured, isTrue: wrong.length === 0 }
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
