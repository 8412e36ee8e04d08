// Scenario: how long people wait for an answer, each command of those that ask, beside a journal of 10,000 installations and 100,000 jobs.
//
//   A1. What is measured is what a person waits for: the whole command, less what Node takes to start and say the version.
//   A2. The first answer of each is left out: it may find nothing compiled, and nothing in PostgreSQL's memory.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { INSTALLATIONS, makeAskJournal } from './ask-journal.ts'
import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { count, figure, markdownTable } from './markdown.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { Stage } from './stage.ts'
import { median } from './statistics.ts'

export const ask: Scenario = {
  summary: `get, trace, why, history, diff, graph and completion beside a journal of ${count(INSTALLATIONS)} installations`,
  run: runAsk,
}

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const LONGEST_MS = 300
const TIMES = 5
/** One that has failed, among others of its namespace. */
const OF = '-n team-50'
const COMMANDS = [
  ...[
    `get inst ${OF}`,
    `get ${OF}`,
    'get inst -A -o name',
    `trace inst/shop-50 ${OF}`,
    `trace inst/shop-50 --job j3 ${OF}`,
  ],
  ...[`why inst/shop-50 ${OF}`, `why di/shop-50 ${OF}`, `history inst/shop-50 ${OF}`, `diff inst/shop-50 ${OF}`],
  ...[`graph exec/shop-50 ${OF}`, `__complete -- why ${OF} inst/shop-5`],
]

interface Answer {
  readonly command: string
  readonly ms: number
}

async function runAsk({ set, say }: Stage): Promise<ScenarioResult> {
  say('ask: making the journal')
  const journal = await makeAskJournal(set.databaseUrl)
  try {
    // A1
    const startMs = await medianMs(['--version'])
    const answers: Answer[] = []
    for (const command of COMMANDS) {
      answers.push({ command, ms: Math.max(0, (await medianMs(wordsOf(command, journal.url))) - startMs) })
      say(`ask: ${command}: ${figure(answers.at(-1)?.ms)} ms`)
    }
    const claims = answers.map(({ command, ms }): Claim => ({
      sentence: `${command}: within ${LONGEST_MS} ms beside Node's start`,
      found: `${figure(ms)} ms`,
      isKept: ms <= LONGEST_MS,
    }))
    return { failures: brokenClaims(claims), report: () => [section(answers, startMs, claims)] }
  } finally {
    await journal.drop()
  }
}

/** A word that is to be completed stays the last one. */
function wordsOf(command: string, url: string): readonly string[] {
  const words = command.split(' ')
  return words.toSpliced(command.startsWith('__complete') ? -1 : words.length, 0, '--database-url', url)
}

/** A2. */
async function medianMs(words: readonly string[]): Promise<number> {
  await timed(words)
  const times: number[] = []
  for (let time = 0; time < TIMES; time++) times.push(await timed(words))
  return median(times)
}

/** @throws when the command fails. */
async function timed(words: readonly string[]): Promise<number> {
  const begun = performance.now()
  await new Promise<void>((done, fail) => {
    execFile(process.execPath, [PAWL, ...words], { maxBuffer: 64 * 2 ** 20 }, (error, _stdout, stderr) => {
      if (error === null) done()
      else fail(new Error(`pawl ${words[0] ?? ''}: ${stderr === '' ? error.message : stderr}`))
    })
  })
  return performance.now() - begun
}

function section(answers: readonly Answer[], startMs: number, claims: readonly Claim[]): string {
  const rows = answers.map(({ command, ms }) => [`pawl ${command}`, figure(ms)])
  return [
    '## Asking',
    `Medians of ${TIMES}, in milliseconds, less the ${figure(startMs)} ms in which \`pawl --version\` answers.`,
    markdownTable(['command', 'ms'], rows),
    claimsTable(claims),
  ].join('\n\n')
}
