// Scenario: a second worker and a second bridge beside the set's own: nothing is done twice, and nothing gets slower.
//
//   V1. One pair and two are measured in turns, so that what the machine does otherwise falls on both.
//   V2. Done twice is: more writes than one pair makes, refused ones taken off; or an effect that the journal holds more often
//       than it does with one pair (a status is written in several passes, so some effects of one step repeat rightly).
//   V3. It is no comparison if the second worker does not work: its share of the CPU is a claim, too.

import { brokenClaims, type Claim, claimsTable } from './claims.ts'
import { warmUp } from './course-of-plan.ts'
import { Crew } from './crew.ts'
import { JournalReader } from './journal-reader.ts'
import { Load } from './load.ts'
import { count, figure, markdownTable, seconds } from './markdown.ts'
import { measure, type Measurement } from './measure.ts'
import { chooseRows, type Row } from './rows.ts'
import type { Scenario, ScenarioResult } from './scenario.ts'
import type { Stage } from './stage.ts'
import { median, sum } from './statistics.ts'

export const two: Scenario = {
  summary: 'two workers and two bridges against one of each: no double work, no less throughput',
  run: runTwo,
}

const ROW = '100x5'
/** Of the throughput of one pair. Two processes share the machine's cores, and each has a cache of its own to fill. */
const LEAST_THROUGHPUT = 0.9
/** Of the first worker's CPU. */
const LEAST_SHARE = 0.2
const SECOND = { worker: 'worker-2', bridge: 'bridge-2' }

interface Run {
  readonly create: Measurement
  /** Effects more often than once, by kind of effect. */
  readonly repeated: ReadonlyMap<string, number>
}

async function runTwo(stage: Stage): Promise<ScenarioResult> {
  const [row] = chooseRows(stage.options.rows ?? [ROW], ['mock'])
  if (row === undefined) throw new Error('--rows: found none, expected one')
  const journal = new JournalReader(stage.set.databaseUrl)
  const [ones, twos]: [Run[], Run[]] = [[], []]
  try {
    await warmUp(stage)
    for (let run = 1; run <= stage.options.runs; run++) {
      // V1
      ones.push(await runOnce(stage, row, journal))
      twos.push(await withSecondPair(stage, (both) => runOnce(both, row, journal)))
      stage.say(`two: run ${run} of ${stage.options.runs}: ${wall(ones)} s with one pair, ${wall(twos)} s with two`)
    }
  } finally {
    await journal.close()
  }
  const claims = claimsOf(ones, twos)
  return { failures: brokenClaims(claims), report: () => [section(row, { ones, twos, claims })] }
}

function wall(runs: readonly Run[]): string {
  return seconds(runs.at(-1)?.create.wallMs)
}

/** The work, with the processes of the second pair among those that are measured. */
async function withSecondPair<Result>(stage: Stage, work: (stage: Stage) => Promise<Result>): Promise<Result> {
  const crew = await Crew.open(stage.set)
  try {
    await Promise.all([crew.start(SECOND.bridge, 'bridge'), crew.start(SECOND.worker, 'worker')])
    const both = { ...stage, set: { ...stage.set, processes: [...stage.set.processes, ...crew.processes] } }
    await warmUp(both)
    return await work(both)
  } finally {
    await crew.stop()
  }
}

async function runOnce({ kube, set, options, say }: Stage, row: Row, journal: JournalReader): Promise<Run> {
  const load = await Load.open(kube, row, set)
  const { processes } = set
  const { timeoutMs } = options
  try {
    const create = await measure(load, 'create', { processes, timeoutMs })
    say(`two: ${row.name} created`)
    const repeated = await journal.repeatedActions(load.namespaces)
    await measure(load, 'delete', { processes, timeoutMs })
    return { create, repeated }
  } finally {
    await load.close()
  }
}

function claimsOf(ones: readonly Run[], twos: readonly Run[]): readonly Claim[] {
  const middle = (runs: readonly Run[], of: (create: Measurement) => number) =>
    median(runs.map((run) => of(run.create)))
  const effective = ({ requests }: Measurement) => requests.writes - requests.conflicts
  const most = Math.max(...ones.map(({ create }) => effective(create)))
  const found = Math.max(...twos.map(({ create }) => effective(create)))
  const conflicts = Math.max(...[...ones, ...twos].map(({ create }) => create.requests.conflicts))
  const throughput = middle(ones, ({ wallMs }) => wallMs) / middle(twos, ({ wallMs }) => wallMs)
  const cpu = (name: string) => sum(twos.map(({ create }) => create.usages[name]?.cpuSeconds ?? 0))
  const share = cpu(SECOND.worker) / cpu('worker')
  const more = repeatedMore(ones, twos)
  return [
    {
      sentence: `two pairs write no more than one (${most}), refused writes taken off, within the conflicts (${conflicts})`,
      found: String(found),
      isKept: found <= most + conflicts,
    },
    {
      sentence: 'no effect is in the journal more often than with one pair',
      found: more.length === 0 ? 'none' : more.join('; '),
      isKept: more.length === 0,
    },
    {
      sentence: `throughput with two pairs is ${LEAST_THROUGHPUT * 100} % of that with one or more`,
      found: `${figure(throughput * 100)} %`,
      isKept: throughput >= LEAST_THROUGHPUT,
    },
    {
      sentence: `the second worker uses ${LEAST_SHARE * 100} % of the CPU of the first or more`,
      found: `${figure(share * 100)} %`,
      isKept: share >= LEAST_SHARE,
    },
  ]
}

/** V2 */
function repeatedMore(ones: readonly Run[], twos: readonly Run[]): readonly string[] {
  const most = (runs: readonly Run[], what: string) => Math.max(...runs.map(({ repeated }) => repeated.get(what) ?? 0))
  const all = new Set(twos.flatMap(({ repeated }) => [...repeated.keys()]))
  return [...all]
    .filter((what) => most(twos, what) > most(ones, what))
    .map((what) => `${what}: ${most(twos, what)} instead of ${most(ones, what)}`)
}

interface Found {
  readonly ones: readonly Run[]
  readonly twos: readonly Run[]
  readonly claims: readonly Claim[]
}

function section({ name }: Row, { ones, twos, claims }: Found): string {
  const line = (title: string, runs: readonly Run[]) => {
    const of = (pick: (create: Measurement) => number) => median(runs.map(({ create }) => pick(create)))
    const cpuOf = (part: string) => figure(of(({ usages }) => usages[part]?.cpuSeconds ?? 0))
    return [
      title,
      seconds(of(({ wallMs }) => wallMs)),
      seconds(of(({ p99Ms }) => p99Ms)),
      ...[of(({ requests }) => requests.writes), of(({ requests }) => requests.conflicts)].map(count),
      count(of(({ requests }) => requests.reads)),
      figure(of(({ cpuSeconds }) => cpuSeconds)),
      ...['worker', SECOND.worker, 'bridge', SECOND.bridge].map(cpuOf),
      figure(of(({ otherCpuSeconds }) => otherCpuSeconds)),
    ]
  }
  const header = ['', 'time, s', 'p99, s', 'writes', 'conflicts', 'reads', 'CPU, s', 'worker', 'worker-2', 'bridge']
  return [
    '## Two workers and two bridges',
    `Create of ${name}, medians of ${ones.length}, one pair and two in turns. One bridge at a time follows a kind; the other stands by.`,
    markdownTable([...header, 'bridge-2', 'other CPU, s'], [line('one pair', ones), line('two pairs', twos)]),
    claimsTable(claims),
  ].join('\n\n')
}
