// `pawl replay --against`: replays past runs with this build and with another build, and compares them. Pure except for
// the replays.

import { compare, type Comparison, type Difference, type Change } from './compare-runs.ts'
import type { RecordedRun } from './load.ts'
import { type RecordOptions, type Recording, recordRuns } from './record.ts'
import { writeJson } from '../../../workflows/kit/index.ts'
import { type Paint, singleLine } from '../query/format.ts'

/** A run to replay; `name` is for display. */
export interface PastJob extends RecordedRun {
  readonly name: string
}

/** The writes of a run in the journal or in the exported file. */
export type WritesOf = (workflowId: string) => Promise<readonly MadeWrite[]> | readonly MadeWrite[]

export interface Trial {
  readonly name: string
  readonly comparison: Comparison
}

/** The result for all runs. */
export interface Verdict {
  readonly trials: readonly Trial[]
  readonly same: number
  readonly differ: number
  /** Runs that the other build cannot replay. */
  readonly part: number
  /** Runs that this build cannot replay. */
  readonly unknown: number
  /** The differences by kind and number of jobs, the most frequent first. */
  readonly kinds: readonly { readonly what: string; readonly jobs: number }[]
}

/** The workflow bundles of both builds. */
interface Builds {
  readonly base: string
  readonly other: string
  readonly payloadKeyPath: string | undefined
  /** Time limit of the replay of each run in milliseconds. */
  readonly limitMs?: number | undefined
}

// Number of recordings in memory at a time.
const MOST_TOGETHER = 50

export async function compareBuilds(
  { base, other, ...options }: Builds,
  jobs: AsyncIterable<PastJob> | Iterable<PastJob>,
  writesOf: WritesOf,
): Promise<readonly Trial[]> {
  const trials: Trial[] = []
  for await (const some of inGroups(jobs)) {
    const baseRecordings = await replayAll({ code: base, ...options }, some)
    const otherRecordings = await replayAll({ code: other, ...options }, some)
    for (const [index, { name }] of some.entries()) {
      const [left, right] = [baseRecordings[index], otherRecordings[index]]
      if (left !== undefined && right !== undefined)
        trials.push({ name, comparison: await withWrites(compare(left, right), writesOf) })
    }
  }
  return trials
}

async function withWrites(comparison: Comparison, writesOf: WritesOf): Promise<Comparison> {
  const { workflowId, differences } = comparison
  if (!differences.some(({ kind }) => kind === 'write')) return comparison
  const writes = await writesOf(workflowId)
  const differing = differences.map((one) => {
    const made = writesOfCall(one, writes)
    return made.length === 0 ? one : { ...one, made }
  })
  return { ...comparison, differences: differing }
}

async function replayAll(options: RecordOptions, runs: readonly PastJob[]) {
  const found: Recording[] = []
  for await (const recording of recordRuns(options, runs)) found.push(recording)
  return found
}

async function* inGroups(jobs: AsyncIterable<PastJob> | Iterable<PastJob>) {
  let group: PastJob[] = []
  for await (const job of jobs) {
    group.push(job)
    if (group.length < MOST_TOGETHER) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

export function verdictOf(trials: readonly Trial[]): Verdict {
  const count = (verdict: Comparison['verdict']) =>
    trials.filter(({ comparison }) => comparison.verdict === verdict).length
  const counts = { same: count('same'), differ: count('differs'), part: count('parts'), unknown: count('unknown') }
  return { trials, ...counts, kinds: kindsOf(trials) }
}

function kindsOf(trials: readonly Trial[]): Verdict['kinds'] {
  const jobs = new Map<string, number>()
  for (const { comparison } of trials)
    for (const what of new Set(comparison.differences.flatMap(whatDiffers))) jobs.set(what, (jobs.get(what) ?? 0) + 1)
  return [...jobs].map(([what, count]) => ({ what, jobs: count })).toSorted((left, right) => right.jobs - left.jobs)
}

/** The difference without names and values of the job. */
function whatDiffers({ kind, name, how, changes }: Difference): readonly string[] {
  if (how === 'more') return [`${kind} ${name}: only in the other build`]
  if (how === 'less') return [`${kind} ${name}: only in this build`]
  return changes.map(({ field }) => `${kind} ${name}: different ${field.replaceAll(/\[\d+\]/g, '[]') || 'input'}`)
}

/** 0: no difference; 3: at least one difference; 4: nothing was compared, or not everything. */
export function exitCodeOf({ trials, differ, part, unknown }: Verdict): number {
  if (differ + part > 0) return 3
  return unknown > 0 || trials.length === 0 ? 4 : 0
}

// Limits of the text output.

const MOST_JOBS = 10
const MOST_DIFFERENCES = 6
const MOST_CHANGES = 5
const MOST_KINDS = 15

/** @param notes parts that are not compared, and jobs without a history. */
export function verdictText(verdict: Verdict, notes: readonly string[], paint: Paint): string {
  const { trials, same, differ, part, unknown, kinds } = verdict
  const differing = trials.filter(({ comparison }) => comparison.verdict !== 'same')
  return [
    `${answerText(verdict, paint)}\n`,
    ...[
      [same, 'without a difference', 'green'] as const,
      [differ, 'with different decisions or calls', 'red'] as const,
      [part, 'that the other build cannot continue', 'red'] as const,
      [unknown, 'that this build cannot replay, so they are not compared', 'yellow'] as const,
    ]
      .filter(([count]) => count > 0)
      .map(([count, what, colour]) => `${String(count).padStart(6)} ${paint(colour, what)}\n`),
    ...notes.map((note) => `${paint('yellow', 'note:')} ${singleLine(note, 2000)}\n`),
    ...(kinds.length === 0 ? [] : ['\nDifferences, with the number of runs:\n']),
    ...kinds.slice(0, MOST_KINDS).map(({ what, jobs }) => `${String(jobs).padStart(6)} ${singleLine(what, 300)}\n`),
    ...rest(kinds.length, MOST_KINDS),
    ...differing.slice(0, MOST_JOBS).map((trial) => trialText(trial, paint)),
    ...rest(differing.length, MOST_JOBS),
  ].join('')
}

/** The first line. */
function answerText({ trials, differ, part, unknown }: Verdict, paint: Paint): string {
  const runs = `${trials.length} ${trials.length === 1 ? 'run' : 'runs'} replayed with both builds`
  if (trials.length === 0) return paint('yellow', `No run was compared: ${runs}`)
  if (differ + part > 0)
    return paint('red', `${differ + part} of ${runs} ${differ + part === 1 ? 'differs' : 'differ'}`)
  return unknown > 0
    ? paint('yellow', `No difference, but ${unknown} of ${runs} could not be compared`)
    : paint('green', `No difference: ${runs}`)
}

function rest(count: number, differing: number, indent = ''): readonly string[] {
  return count > differing ? [`${indent}and ${count - differing} more; -o json shows all of them\n`] : []
}

function trialText({ name, comparison }: Trial, paint: Paint): string {
  const { verdict, differences, error, workflowId } = comparison
  const words = { same: 'no difference', differs: 'differs', parts: 'cannot continue', unknown: 'not compared' }
  return [
    `\n${paint('bold', singleLine(name))}: ${paint(verdict === 'unknown' ? 'yellow' : 'red', words[verdict])}\n`,
    `  ${paint('dim', singleLine(workflowId))}\n`,
    ...differences.slice(0, MOST_DIFFERENCES).map((one) => differenceText(one)),
    ...rest(differences.length, MOST_DIFFERENCES, '  '),
    ...(error === undefined ? [] : [`  ${singleLine(errorText(verdict, error), 1000)}\n`]),
  ].join('')
}

function errorText(verdict: Trial['comparison']['verdict'], error: string): string {
  return verdict === 'unknown' ? `this build cannot replay the run: ${error}` : `the other build stops here: ${error}`
}

const HOW: Readonly<Record<Difference['how'], string>> = {
  more: ': only in the other build',
  less: ': only in this build',
  other: '',
}

function differenceText({ pass, kind, name, object, how, changes, made = [] }: Difference): string {
  const of = object === undefined ? '' : ` of ${object}`
  const lines = changes.slice(0, MOST_CHANGES).map((change) => `    ${singleLine(changeText(change), 400)}\n`)
  const then = made.slice(0, MOST_CHANGES).map((write) => `    the run wrote: ${singleLine(write, 300)}\n`)
  return [
    `  pass ${pass}  ${kind.padEnd(8)}  ${singleLine(`${name}${of}${HOW[how]}`, 300)}\n`,
    ...[...lines, ...rest(changes.length, MOST_CHANGES, '    ')],
    ...[...then, ...rest(made.length, MOST_CHANGES, '    ')],
  ].join('')
}

function changeText({ field, from, to }: Change): string {
  return `${field === '' ? '' : `${field}: `}${valueText(from)} -> ${valueText(to)}`
}

function valueText(value: unknown): string {
  return value === undefined ? '(none)' : singleLine(typeof value === 'string' ? value : writeJson(value), 160)
}

/** A write of a run, from the journal or from an exported file. */
export interface MadeWrite {
  readonly pass: number
  readonly step: string
  readonly object: string
  readonly verb: string
}

/** Activities whose writes have other step names in the journal. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  startInstallation: ['beginJob', 'adoptInstallation'],
  deployMockItems: ['deployMockItems', 'exportMockItems', 'endRefusedItems'],
  finalizeLevel: ['addFinalizer', 'removeFinalizer'],
  writeLevelStatus: ['status'],
}

/** The writes of a call, as `patch Widget/default/one`; empty if the call did not happen in the recorded run. */
export function writesOfCall({ kind, how, name, pass }: Difference, writes: readonly MadeWrite[]): readonly string[] {
  if (kind !== 'write' || how === 'more') return []
  const steps = STEPS[name] ?? [name, name.replace(/Level$/, '')]
  const own = writes.filter((write) => write.pass === pass && steps.includes(write.step))
  return own.map(({ verb, object }) => `${verb} ${object}`)
}
