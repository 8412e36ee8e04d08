// Scenario: the latency of the commands that query the journal, with 10,000 Installations and 100,000 jobs, and the
// delay until `pawl trace -w` prints a change. The scenario starts only PostgreSQL, because the commands need no other
// server.
//
//   A1. The latency of a command is its wall time minus the wall time of `pawl --version`.
//   A2. The first run of each command does not count, because it fills caches.
//   A3. The report also shows the CPU time minus the CPU time of `pawl --version`. Other load on the machine changes it
//       little.
//   A4. The slowest change counts, because a user sees each change.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { OwnPostgres } from '../../support/servers/own-postgres.ts'
import { type AskJournal, INSTALLATIONS, makeAskJournal } from '../ask/ask-journal.ts'
import { measureTraceDelays } from '../ask/trace-watch.ts'
import { type Claim, claimsTable, count, falseClaims, figure, markdownTable } from '../report.ts'
import type { Context, Scenario, ScenarioResult } from '../scenario.ts'
import { median, sum } from '../statistics.ts'

export const scenario: Scenario = {
  summary: `get, trace, why, history, diff, graph and completion with ${count(INSTALLATIONS)} Installations in the journal`,
  run: runAsk,
}

const PAWL = fileURLToPath(new URL('../../../worker/pawl.js', import.meta.url))
const VERSION = ['--version']
const LONGEST_MS = 300
const TIMES = 5
/** The namespace of a failed Installation. */
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

interface Times {
  /** A1 */
  readonly ms: readonly number[]
  /** A3 */
  readonly cpuMs: readonly number[]
  /** The wall time of `pawl --version`. */
  readonly startMs: number
}

interface Answer extends Times {
  readonly command: string
}

interface Following {
  readonly items: number
  readonly ms: readonly number[]
}

async function runAsk({ log, interrupted }: Context): Promise<ScenarioResult> {
  const postgres = await OwnPostgres.start()
  try {
    return await Promise.race([measureOn(postgres, log), interrupted])
  } finally {
    await postgres.remove()
  }
}

async function measureOn(postgres: OwnPostgres, log: Context['log']): Promise<ScenarioResult> {
  log('ask: fills the journal')
  const journal = await makeAskJournal(postgres.url)
  const answers: Answer[] = []
  for (const command of COMMANDS) {
    const times = await timesOf(wordsOf(command, journal.url))
    answers.push({ command, ...times })
    log(`ask: ${command}: ${figure(median(times.ms))} ms, ${figure(median(times.cpuMs))} ms of CPU`)
  }
  const followed = await followAll(journal, log)
  const claims = [
    ...answers.map(({ command, ms }) =>
      claimOf(`${command}: at most ${LONGEST_MS} ms more than pawl --version`, median(ms)),
    ),
    ...followed.map(({ items, ms }) =>
      claimOf(`trace -w, ${count(items)} items: prints each change within ${LONGEST_MS} ms`, Math.max(...ms)),
    ),
  ]
  return { failures: falseClaims(claims), sections: [section(answers, followed, claims)] }
}

async function followAll({ url, live }: AskJournal, log: Context['log']): Promise<readonly Following[]> {
  const followed: Following[] = []
  for (const job of live) {
    const ms = await measureTraceDelays(PAWL, url, job)
    followed.push({ items: job.items, ms })
    log(`ask: trace -w, ${job.items} items: ${figure(median(ms))} ms, at most ${figure(Math.max(...ms))}`)
  }
  return followed
}

function claimOf(sentence: string, ms: number): Claim {
  return { sentence, measured: `${figure(ms)} ms`, isTrue: ms <= LONGEST_MS }
}

/** Adds `--database-url`. The word to complete must stay the last one. */
function wordsOf(command: string, url: string): readonly string[] {
  const words = command.split(' ')
  return words.toSpliced(command.startsWith('__complete') ? -1 : words.length, 0, '--database-url', url)
}

/** Measures a command (A1, A2, A3). */
async function timesOf(words: readonly string[]): Promise<Times> {
  await timeCommand(words)
  const [starts, ms, cpuMs]: [number[], number[], number[]] = [[], [], []]
  for (let time = 0; time < TIMES; time++) {
    // Before and after the command, because the speed of a shared machine changes.
    const before = await timeCommand(VERSION)
    const all = await timeCommand(words)
    const after = await timeCommand(VERSION)
    const startMs = (before.ms + after.ms) / 2
    starts.push(startMs)
    ms.push(Math.max(0, all.ms - startMs))
    cpuMs.push(Math.max(0, all.cpuMs - (before.cpuMs + after.cpuMs) / 2))
  }
  return { ms, cpuMs, startMs: median(starts) }
}

/** The shell prints the CPU time of its children. */
const SCRIPT = '"$@" >/dev/null || exit; times'

/** @throws when the command fails. */
async function timeCommand(words: readonly string[]): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const startedAt = performance.now()
  const output = await new Promise<string>((done, fail) => {
    execFile('sh', ['-c', SCRIPT, 'sh', process.execPath, PAWL, ...words], (error, stdout, stderr) => {
      if (error === null) done(stdout)
      else fail(new Error(`pawl ${words[0] ?? ''}: ${stderr === '' ? error.message : stderr}`))
    })
  })
  return { ms: performance.now() - startedAt, cpuMs: childrenCpuMs(output) }
}

/**
 * Returns the user and system time of the children, from the second line of `times`: `0m0.210000s 0m0.050000s`.
 * Source: POSIX, "times".
 */
function childrenCpuMs(output: string): number {
  const parts = [...(output.trim().split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  if (parts.length !== 2) throw new Error(`times: found '${output.trim()}', expected two lines of two times each`)
  return sum(parts.map(([, minutes, seconds]) => (Number(minutes) * 60 + Number(seconds)) * 1000))
}

function section(answers: readonly Answer[], followed: readonly Following[], claims: readonly Claim[]): string {
  const row = (name: string, ms: readonly number[]) => [
    name,
    ...[median(ms), Math.min(...ms), Math.max(...ms)].map(figure),
  ]
  return [
    '## Queries',
    `Milliseconds of ${TIMES} runs each, minus those of \`pawl --version\` (median ${figure(median(answers.map(({ startMs }) => startMs)))}).`,
    markdownTable(
      ['command', 'median', 'fastest', 'slowest', 'CPU'],
      answers.map(({ command, ms, cpuMs }) => [...row(`pawl ${command}`, ms), figure(median(cpuMs))]),
    ),
    'Milliseconds from the commit of a change to its line in the output of `pawl trace -w`.',
    markdownTable(
      ['a running job', 'median', 'fastest', 'slowest'],
      followed.map(({ items, ms }) => row(`${count(items)} items, ${ms.length} changes`, ms)),
    ),
    claimsTable(claims),
  ].join('\n\n')
}
