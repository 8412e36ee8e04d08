// `pawl fdb exclusion-status`: shows how much data excluded processes still store, once or until all exclusions are complete.

import { setTimeout as sleep } from 'node:timers/promises'

import { durationText, joinNames, parseDuration, tableLines } from '../../../workflows/kit/index.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { chosenCluster, readCluster } from './clusters.ts'
import { withDatabase } from './database.ts'
import {
  bytesLeftIn,
  bytesText,
  estimateOf,
  type ExcludedProcess,
  type ExclusionReading,
  exclusionReading,
  isComplete,
  unfinished,
} from './exclusion-progress.ts'

const LEAST_INTERVAL_MS = 1000
const MOST_NAMES = 10

interface Clock {
  readonly nowMs: () => number
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const CLOCK: Clock = { nowMs: () => Date.now(), pause: (ms, signal) => sleep(ms, undefined, { signal }) }

export async function run(start: CommandStart, { nowMs, pause }: Clock = CLOCK): Promise<CommandDone> {
  const intervalMs = intervalIn(start.given['interval'])
  const cluster = await chosenCluster(start, start.words[0], 'exclusion-status: the cluster')
  const { namespace, name } = cluster.metadata
  return await withDatabase(start, cluster, async ({ readStatus }) => {
    const read = async () => {
      const status = await readStatus()
      return exclusionReading(status, await readCluster(start.kube, namespace, name), nowMs())
    }
    let last = await read()
    // The reading with the most data: exclusions may begin later.
    let first = last
    let lastLine = ''
    while (intervalMs !== undefined && !isComplete(last)) {
      const line = progressLine(first, last)
      if (line !== lastLine) start.progress(line)
      lastLine = line
      await pause(intervalMs, start.end)
      last = await read()
      if (bytesLeftIn(last) > bytesLeftIn(first)) first = last
    }
    return { lines: linesOf(last), data: dataOf(first, last), exitCode: 0 }
  })
}

function intervalIn(text: string | true | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = typeof text === 'string' ? parseDuration(text) : undefined
  if (ms === undefined || ms === 'none' || ms < LEAST_INTERVAL_MS)
    throw new CommandUsageError(`--interval: found "${String(text)}"; expected a duration of at least 1s, such as 30s`)
  return ms
}

function linesOf(reading: ExclusionReading): readonly string[] {
  return [
    answerOf(reading),
    ...(reading.processes.length === 0 ? [] : tableOf(reading.processes)),
    ...reading.absent.map((id) => `${id} is excluded and has no process`),
  ]
}

/** @param moved such as ` (75 % moved)`. */
function answerOf(reading: ExclusionReading, moved = ''): string {
  const { processes, waiting } = reading
  const open = unfinished(reading)
  const next = waiting.length === 0 ? '' : `; to be excluded next: ${joinNames(waiting, MOST_NAMES)}`
  if (processes.length === 0) return `no process is excluded${next}`
  const all = processes.length === 1 ? '1 excluded process' : `${processes.length} excluded processes`
  if (open.length === 0) return `${all} without data and roles${next}`
  const bytes = bytesLeftIn(reading)
  const roles = [...new Set(open.flatMap((one) => one.roles))].sort().join(', ')
  const left = bytes === 0 ? 'no data left' : `${bytesText(bytes)} left${moved}`
  return `${left}: ${open.length} of ${all} not finished (roles: ${roles})${next}`
}

function progressLine(first: ExclusionReading, last: ExclusionReading): string {
  const { bytesPerSecond, secondsLeft } = estimateOf(first, last)
  const moved = Math.floor((1 - bytesLeftIn(last) / bytesLeftIn(first)) * 100)
  const rate =
    bytesPerSecond === undefined || secondsLeft === undefined
      ? ''
      : `; ${bytesText(bytesPerSecond)}/s, about ${durationText(secondsLeft * 1000)} left`
  return `${answerOf(last, ` (${moved} % moved)`)}${rate}`
}

function tableOf(processes: readonly ExcludedProcess[]): readonly string[] {
  return tableLines([
    ['PROCESS GROUP', 'ADDRESS', 'ROLES', 'LEFT'],
    ...processes.map(({ name, address, roles, bytesLeft }) => [
      ...[name, address, roles.length === 0 ? '-' : roles.join(',')],
      roles.length === 0 ? 'excluded' : bytesText(bytesLeft),
    ]),
  ])
}

function dataOf(first: ExclusionReading, last: ExclusionReading): object {
  return {
    bytesLeft: bytesLeftIn(last),
    isComplete: isComplete(last),
    ...estimateOf(first, last),
    processes: last.processes,
    waiting: last.waiting,
    absent: last.absent,
  }
}
