// The gate of an upgrade: the runs of the last days, or those of files, with this build and with another one.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { pastRuns, MOST_PAST_RUNS } from '../../../activities/journal/read/past-runs.ts'
import { parseDuration } from '../../../workflows/kit/index.ts'
import type { TemporalTarget } from '../../server/temporal.ts'
import { UsageError } from '../../server/usage-error.ts'
import { asking, type AskFlags } from '../ask/open-journal.ts'
import { coloured, plain } from '../ask/texts.ts'
import { exitCodeOf, type PastJob, tryRuns, verdictOf } from './against.ts'
import { verdictText } from './against-text.ts'
import { type CodeFlags, codeOf, NO_TEMPORAL, readJob } from './load.ts'
import { otherBuild } from './other-build.ts'

export interface GateFlags extends AskFlags, CodeFlags {
  readonly against: string
  readonly againstControllers?: string
  readonly since?: string
  readonly allNamespaces?: boolean
  readonly file?: string
  readonly output: 'text' | 'json'
}

interface Found {
  readonly jobs: AsyncIterable<PastJob>
  /** Filled while the jobs are taken. */
  readonly notes: string[]
}

/** @returns the exit code. */
export async function gate(
  flags: GateFlags,
  payloadKeyPath: string | undefined,
  target: TemporalTarget | undefined,
): Promise<number> {
  const { against, againstControllers: controllers = flags.controllers, file, output } = flags
  const other = await otherBuild(against, { controllers, payloadKeyPath })
  const base = await codeOf(flags, payloadKeyPath)
  const { jobs, notes } = file === undefined ? await pastJobs(flags, target) : { jobs: jobsOfFiles(file), notes: [] }
  const verdict = verdictOf(await tryRuns({ base, other: other.code, payloadKeyPath }, jobs))
  const all = [...notes, ...other.notes]
  const paint = process.stdout.isTTY && process.stdout.hasColors() ? coloured : plain
  const exitCode = exitCodeOf(verdict)
  process.stdout.write(
    output === 'json'
      ? `${JSON.stringify({ ...verdict, trials: verdict.trials.map(({ name, comparison }) => ({ name, ...comparison })), notes: all, exitCode }, null, 2)}\n`
      : verdictText(verdict, all, paint),
  )
  return exitCode
}

async function pastJobs(flags: GateFlags, target: TemporalTarget | undefined): Promise<Found> {
  if (target === undefined) throw new UsageError(NO_TEMPORAL)
  const since = sinceOf(flags.since)
  const runs = await asking(
    flags,
    async (asked) => await pastRuns(asked, since, flags.allNamespaces === true ? undefined : asked.namespace),
  )
  const notes =
    runs.length < MOST_PAST_RUNS
      ? []
      : [`there are more runs since ${since.toISOString()}: the newest ${MOST_PAST_RUNS} were taken`]
  return { jobs: withHistories(target, runs, notes), notes }
}

type Runs = Awaited<ReturnType<typeof pastRuns>>

async function* withHistories(target: TemporalTarget, runs: Runs, notes: string[]): AsyncGenerator<PastJob> {
  const { fetchRuns, historyJson } = await import('../journal/runs.ts')
  const names = new Map(
    runs.map(({ workflowID, controller, namespace, name }) => [
      workflowID,
      `${controller} ${namespace === '' ? '' : `${namespace}/`}${name}`,
    ]),
  )
  let gone = 0
  for await (const { workflowId, runs: found } of fetchRuns(target, [...names.keys()])) {
    if (found.length === 0) gone += 1
    for (const { history } of found)
      yield { workflowId, name: names.get(workflowId) ?? workflowId, events: historyJson(history) }
  }
  if (gone > 0) notes.push(`of ${gone} ${gone === 1 ? 'run' : 'runs'} Temporal has no history any more`)
}

/** @throws UsageError for what is no duration. */
function sinceOf(text: string | undefined): Date {
  const ms = parseDuration(text ?? '')
  if (typeof ms !== 'number')
    throw new UsageError(`--since is '${text ?? ''}', expected a duration such as 7d beside --against, or --file`)
  return new Date(Date.now() - ms)
}

/** Of one file, or of all that lie in a folder. */
async function* jobsOfFiles(path: string): AsyncGenerator<PastJob> {
  for (const file of filesAt(path)) {
    const job = await readJob(file)
    for (const { workflowId, events } of [...job.earlier, job]) yield { workflowId, events, name: file }
  }
}

/** @throws UsageError for a folder without any. */
function filesAt(path: string): readonly string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path]
  const files = readdirSync(path)
    .filter((name) => name.endsWith('.json'))
    .sort()
  if (files.length === 0)
    throw new UsageError(`--file ${path}: found no *.json in the folder, expected what pawl journal export wrote`)
  return files.map((name) => join(path, name))
}
