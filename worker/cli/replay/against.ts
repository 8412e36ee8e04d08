// `pawl replay --against`: past runs once more with the workflows of this build and of another one, side by side.

import { compare, type Comparison, type Difference } from './compare.ts'
import type { RecordedRun } from './load.ts'
import { madeBy, type MadeWrite } from './made-writes.ts'
import { type Recording, recordRuns } from './record.ts'

/** A run to try; `name` is for people. */
export interface PastJob extends RecordedRun {
  readonly name: string
}

/** What runs of an ID wrote, as far as the journal, or the file, still has it. */
export type WritesOf = (workflowId: string) => Promise<readonly MadeWrite[]> | readonly MadeWrite[]

export interface Trial {
  readonly name: string
  readonly comparison: Comparison
}

/** Gate of an upgrade. */
export interface Verdict {
  readonly trials: readonly Trial[]
  readonly same: number
  readonly differ: number
  /** The other build cannot go on with them. */
  readonly part: number
  /** This build cannot replay them itself. */
  readonly unknown: number
  /** What differs, in how many jobs; what most have first. */
  readonly kinds: readonly { readonly what: string; readonly jobs: number }[]
}

/** The workflows to try them with. */
export interface Builds {
  readonly base: string
  readonly other: string
  readonly payloadKeyPath: string | undefined
}

// Recordings of so many runs are in memory together.
const MOST_TOGETHER = 50

export async function tryRuns(
  { base, other, payloadKeyPath }: Builds,
  jobs: AsyncIterable<PastJob> | Iterable<PastJob>,
  writesOf: WritesOf,
): Promise<readonly Trial[]> {
  const trials: Trial[] = []
  for await (const some of inGroups(jobs)) {
    const lefts = await recorded(base, payloadKeyPath, some)
    const rights = await recorded(other, payloadKeyPath, some)
    for (const [index, { name }] of some.entries()) {
      const [left, right] = [lefts[index], rights[index]]
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
  const told = differences.map((one) => {
    const made = madeBy(one, writes)
    return made.length === 0 ? one : { ...one, made }
  })
  return { ...comparison, differences: told }
}

async function recorded(code: string, payloadKeyPath: string | undefined, runs: readonly PastJob[]) {
  const found: Recording[] = []
  for await (const recording of recordRuns({ code, payloadKeyPath }, runs)) found.push(recording)
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

/** Without the job's own names and values. */
function whatDiffers({ kind, name, how, changes }: Difference): readonly string[] {
  if (how === 'more') return [`${kind} ${name}: only the other build does it`]
  if (how === 'less') return [`${kind} ${name}: only this build does it`]
  return changes.map(({ field }) => `${kind} ${name}: another ${field.replaceAll(/\[\d+\]/g, '[]') || 'input'}`)
}

/** 0: nothing differs; 3: something does; 4: nothing was compared, or not all that should have been. */
export function exitCodeOf({ trials, differ, part, unknown }: Verdict): number {
  if (differ + part > 0) return 3
  return unknown > 0 || trials.length === 0 ? 4 : 0
}
