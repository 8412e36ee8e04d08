// Replays the jobs of the last days, or the jobs in files, with this build and with another build, to decide whether an
// upgrade is safe.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { writeJson } from '../../../workflows/kit/index.ts'
import { pastRuns, MOST_PAST_RUNS } from '../../../activities/journal/read/job-queries.ts'
import type { TemporalTarget } from '../../server/temporal.ts'
import { UsageError } from '../../server/usage-error.ts'
import { type JournalSession, withJournal, type JournalFlags } from '../query/open-journal.ts'
import { ansiPaint, plainPaint } from '../query/format.ts'
import { durationMs } from '../journal.ts'
import {
  exitCodeOf,
  type PastJob,
  compareBuilds,
  type Verdict,
  verdictOf,
  type WritesOf,
  verdictText,
  type MadeWrite,
} from './compare-builds.ts'
import { type CodeFlags, codeOf, NO_TEMPORAL, readJob } from './load.ts'
import { otherBuild } from './other-build.ts'

interface GateFlags extends JournalFlags, CodeFlags {
  readonly against: string
  readonly againstControllers?: string
  readonly since?: string
  readonly allNamespaces?: boolean
  /** A file of `pawl journal export`, or a folder with such files. */
  readonly file?: string
  /** Time limit of the replay of each run in milliseconds. */
  readonly limitMs?: number | undefined
}

interface PastJobs {
  readonly jobs: AsyncIterable<PastJob>
  /** Complete for a job only after `jobs` has returned the job. */
  readonly writesOf: WritesOf
  /** Grows while the jobs are read. */
  readonly notes: string[]
  readonly open: ReadonlySet<string>
}

/** The comparison of past runs with another build. */
export interface GateResult {
  readonly verdict: Verdict
  /** Sentences about what was not compared. */
  readonly notes: readonly string[]
  /** The workflow IDs of the compared runs that still run. */
  readonly open: ReadonlySet<string>
}

/** @returns the exit code. */
export async function runUpgradeGate(
  flags: GateFlags & { readonly output: 'text' | 'wide' | 'json' },
  payloadKeyPath: string | undefined,
  target: TemporalTarget | undefined,
): Promise<number> {
  const { verdict, notes } = await compareWithBuild(flags, payloadKeyPath, target)
  return printVerdict(verdict, notes, flags.output)
}

/** @throws UsageError */
export async function compareWithBuild(
  flags: GateFlags,
  payloadKeyPath: string | undefined,
  target: TemporalTarget | undefined,
): Promise<GateResult> {
  const { against, againstControllers, controllers, file } = flags
  const other = await otherBuild(against, { controllers, againstControllers })
  const builds = { base: await codeOf(flags), other: other.code, payloadKeyPath, limitMs: flags.limitMs }
  const compareAll = async ({ jobs, writesOf, notes, open }: PastJobs): Promise<GateResult> => {
    const verdict = verdictOf(await compareBuilds(builds, jobs, writesOf))
    return { verdict, notes: [...notes, ...other.notes], open }
  }
  if (file !== undefined) return await compareAll(jobsOfFiles(file))
  if (target === undefined) throw new UsageError(NO_TEMPORAL)
  const since = sinceOf(flags.since)
  return await withJournal(
    flags,
    async (journal) => await compareAll(await pastJobs(journal, { ...flags, since, target })),
  )
}

/** @returns the exit code. */
function printVerdict(verdict: Verdict, notes: readonly string[], output: 'text' | 'wide' | 'json'): number {
  const exitCode = exitCodeOf(verdict)
  const trials = verdict.trials.map(({ name, comparison }) => ({ name, ...comparison }))
  const paint = process.stdout.isTTY && process.stdout.hasColors() ? ansiPaint : plainPaint
  process.stdout.write(
    output === 'json'
      ? `${writeJson({ ...verdict, trials, notes, exitCode }, 2)}\n`
      : verdictText(verdict, notes, paint),
  )
  return exitCode
}

interface PastJobsOptions extends Pick<GateFlags, 'allNamespaces'> {
  readonly since: Date
  readonly target: TemporalTarget
}

async function pastJobs(journal: JournalSession, { since, allNamespaces, target }: PastJobsOptions): Promise<PastJobs> {
  const runs = await pastRuns(journal, since, allNamespaces === true ? undefined : journal.namespace)
  const notes =
    runs.length < MOST_PAST_RUNS
      ? []
      : [`only the newest ${MOST_PAST_RUNS} runs since ${since.toISOString()} are compared`]
  const writesOf: WritesOf = async (workflowId) => await journal.writesOf(workflowId)
  const open = new Set(runs.filter(({ outcome }) => outcome === null).map(({ workflowID }) => workflowID))
  return { jobs: withHistories(target, runs, notes), writesOf, notes, open }
}

type PastRuns = Awaited<ReturnType<typeof pastRuns>>

async function* withHistories(target: TemporalTarget, runs: PastRuns, notes: string[]): AsyncGenerator<PastJob> {
  const { fetchRuns, historyJson } = await import('../temporal-runs.ts')
  const names = new Map(
    runs.map(({ workflowID, controller, namespace, name }) => [
      workflowID,
      `${controller} ${namespace === '' ? '' : `${namespace}/`}${name}`,
    ]),
  )
  let missing = 0
  for await (const { workflowId, runs: runsOfWorkflow } of fetchRuns(target, [...names.keys()])) {
    if (runsOfWorkflow.length === 0) missing += 1
    for (const history of runsOfWorkflow)
      yield { workflowId, name: names.get(workflowId) ?? workflowId, events: historyJson(history) }
  }
  if (missing > 0)
    notes.push(`${missing} ${missing === 1 ? 'run is' : 'runs are'} not compared: Temporal has deleted the history`)
}

/** @throws UsageError if the flag --since is missing or is not a duration. */
function sinceOf(text: string | undefined): Date {
  if (text === undefined)
    throw new UsageError('replay: --against without --since and --file; add one of them, such as --since 7d')
  return new Date(Date.now() - durationMs('--since', text))
}

/** The jobs in a file, or in all files of a folder. */
function jobsOfFiles(path: string): PastJobs {
  const writes = new Map<string, readonly MadeWrite[]>()
  const writesOf: WritesOf = (workflowId) => writes.get(workflowId) ?? []
  return { jobs: readFiles(filesAt(path), writes), writesOf, notes: [], open: new Set() }
}

async function* readFiles(
  files: readonly string[],
  writes: Map<string, readonly MadeWrite[]>,
): AsyncGenerator<PastJob> {
  for (const file of files) {
    const job = await readJob(file)
    writes.set(job.workflowId, job.rows?.writes ?? [])
    for (const { workflowId, events } of [...job.earlier, job]) yield { workflowId, events, name: file }
  }
}

/** @throws UsageError for a folder without JSON files. */
function filesAt(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path]
  const files = readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .sort()
  if (files.length === 0)
    throw new UsageError(`--file: folder "${path}" has no *.json; expected files of pawl journal export`)
  return files.map((name) => join(path, name))
}
