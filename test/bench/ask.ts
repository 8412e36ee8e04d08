// Scenario: how long people wait for an answer, each command of those that ask, beside a journal of 10,000 installations and 100,000 jobs; and for a change
// of a job that they follow. With a PostgreSQL of its own: the commands ask nothing else.
//
//   A1. What is measured is what a person waits for: the whole command, less what Node takes to start and say the version.
//   A2. The first answer of each is left out: it may find nothing compiled, and nothing in PostgreSQL's memory.
//   A3. The processor's time of the command's processes, less that of Node's start, is told beside it: it is much the same on a machine that others use, too.
//   A4. Of changes the slowest counts: who follows a job sees each.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { OwnPostgres } from '../support/servers/own-postgres.ts'
import { type AskJournal, INSTALLATIONS, makeAskJournal } from './ask-journal.ts'
import { watchLive } from './ask-live.ts'
import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { count, figure, markdownTable } from './markdown.ts'
import type { Options } from './options.ts'
import type { Say } from './progress.ts'
import type { LoneScenario, ScenarioResult } from './scenario.ts'
import { median, sum } from './statistics.ts'

export const ask: LoneScenario = {
  summary: `get, trace, why, history, diff, graph and completion beside a journal of ${count(INSTALLATIONS)} installations`,
  runAlone: runAsk,
}

const PAWL = fileURLToPath(new URL('../../worker/pawl.js', import.meta.url))
const START = ['--version']
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

interface Times {
  /** Milliseconds beside Node's start (A1). */
  readonly ms: readonly number[]
  /** Those of processors (A3). */
  readonly cpuMs: readonly number[]
  /** Of Node's start. */
  readonly startMs: number
}

interface Answer extends Times {
  readonly command: string
}

interface Following {
  readonly items: number
  readonly ms: readonly number[]
}

async function runAsk(_options: Options, say: Say, interrupted: Promise<never>): Promise<ScenarioResult> {
  const postgres = await OwnPostgres.start()
  try {
    return await Promise.race([measureOn(postgres, say), interrupted])
  } finally {
    await postgres.remove()
  }
}

async function measureOn(postgres: OwnPostgres, say: Say): Promise<ScenarioResult> {
  say('ask: making the journal')
  const journal = await makeAskJournal(postgres.url)
  const answers: Answer[] = []
  for (const command of COMMANDS) {
    const times = await timesOf(wordsOf(command, journal.url))
    answers.push({ command, ...times })
    say(`ask: ${command}: ${figure(median(times.ms))} ms, ${figure(median(times.cpuMs))} ms of processors`)
  }
  const followed = await followAll(journal, say)
  const claims = [
    ...answers.map(({ command, ms }) => claimOf(`${command}: within ${LONGEST_MS} ms beside Node's start`, median(ms))),
    ...followed.map(({ items, ms }) =>
      claimOf(`trace -w, ${count(items)} items: each change is told within ${LONGEST_MS} ms`, Math.max(...ms)),
    ),
  ]
  return { failures: brokenClaims(claims), report: () => [section(answers, followed, claims)] }
}

async function followAll({ url, live }: AskJournal, say: Say): Promise<readonly Following[]> {
  const followed: Following[] = []
  for (const job of live) {
    const ms = await watchLive(PAWL, url, job)
    followed.push({ items: job.items, ms })
    say(`ask: trace -w, ${job.items} items: ${figure(median(ms))} ms, at most ${figure(Math.max(...ms))}`)
  }
  return followed
}

function claimOf(sentence: string, ms: number): Claim {
  return { sentence, found: `${figure(ms)} ms`, isKept: ms <= LONGEST_MS }
}

/** A word that is to be completed stays the last one. */
function wordsOf(command: string, url: string): readonly string[] {
  const words = command.split(' ')
  return words.toSpliced(command.startsWith('__complete') ? -1 : words.length, 0, '--database-url', url)
}

/** A1, A2. */
async function timesOf(words: readonly string[]): Promise<Times> {
  await timed(words)
  const [starts, ms, cpuMs]: [number[], number[], number[]] = [[], [], []]
  for (let time = 0; time < TIMES; time++) {
    // Just before, and just after: a machine that others share is fast now and slow then.
    const before = await timed(START)
    const all = await timed(words)
    const after = await timed(START)
    const startMs = (before.ms + after.ms) / 2
    starts.push(startMs)
    ms.push(Math.max(0, all.ms - startMs))
    cpuMs.push(Math.max(0, all.cpuMs - (before.cpuMs + after.cpuMs) / 2))
  }
  return { ms, cpuMs, startMs: median(starts) }
}

/** The shell tells what its children have used, with theirs. */
const TOLD = '"$@" >/dev/null || exit; times'

/** @throws when the command fails. */
async function timed(words: readonly string[]): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const begun = performance.now()
  const told = await new Promise<string>((done, fail) => {
    execFile('sh', ['-c', TOLD, 'sh', process.execPath, PAWL, ...words], (error, stdout, stderr) => {
      if (error === null) done(stdout)
      else fail(new Error(`pawl ${words[0] ?? ''}: ${stderr === '' ? error.message : stderr}`))
    })
  })
  return { ms: performance.now() - begun, cpuMs: childrenCpuMs(told) }
}

/** Of the second line of `times`, such as `0m0.210000s 0m0.050000s`: user and system. Source: POSIX, "times". */
function childrenCpuMs(told: string): number {
  const parts = [...(told.trim().split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)]
  if (parts.length !== 2) throw new Error(`times: found '${told.trim()}', expected two lines of two times each`)
  return sum(parts.map(([, minutes, seconds]) => (Number(minutes) * 60 + Number(seconds)) * 1000))
}

function section(answers: readonly Answer[], followed: readonly Following[], claims: readonly Claim[]): string {
  const row = (name: string, ms: readonly number[]) => [
    name,
    ...[median(ms), Math.min(...ms), Math.max(...ms)].map(figure),
  ]
  return [
    '## Asking',
    `Milliseconds of ${TIMES} answers each, less what \`pawl --version\` takes just before and after (median ${figure(median(answers.map(({ startMs }) => startMs)))}).`,
    markdownTable(
      ['command', 'median', 'quickest', 'slowest', 'processors'],
      answers.map(({ command, ms, cpuMs }) => [...row(`pawl ${command}`, ms), figure(median(cpuMs))]),
    ),
    'Milliseconds from the commit of a change to the line of `pawl trace -w` that tells it.',
    markdownTable(
      ['a job that goes on', 'median', 'quickest', 'slowest'],
      followed.map(({ items, ms }) => row(`${count(items)} items, ${ms.length} changes`, ms)),
    ),
    claimsTable(claims),
  ].join('\n\n')
}
