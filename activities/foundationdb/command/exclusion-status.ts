// `pawl fdb exclusion-status`: shows how much data excluded processes still store, once or until all exclusions are complete.

import { setTimeout as sleep } from 'node:timers/promises'

import { durationText, parseDuration } from '../../../workflows/kit/index.ts'
import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { chosenCluster } from './clusters.ts'
import { withDatabase } from './database.ts'
import {
  bytesLeftIn,
  bytesText,
  estimateOf,
  type ExcludedProcess,
  type ExclusionReading,
  exclusionReading,
  unfinished,
} from './exclusion-progress.ts'

const LEAST_INTERVAL_MS = 1000

interface Clock {
  readonly nowMs: () => number
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>
}

const CLOCK: Clock = { nowMs: () => Date.now(), pause: (ms, signal) => sleep(ms, undefined, { signal }) }

export async function run(start: CommandStart, { nowMs, pause }: Clock = CLOCK): Promise<CommandDone> {
  const intervalMs = intervalIn(start.given['interval'])
  const cluster = await chosenCluster(start, start.words[0], 'exclusion-status: the cluster')
  return await withDatabase(start, cluster, async ({ readStatus }) => {
    const first = exclusionReading(await readStatus(), nowMs())
    let last = first
    while (intervalMs !== undefined && unfinished(last).length > 0) {
      start.progress(progressLine(first, last))
      await pause(intervalMs, start.end)
      last = exclusionReading(await readStatus(), nowMs())
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

function answerOf(reading: ExclusionReading): string {
  const { processes, absent } = reading
  const [open, all] = [unfinished(reading).length, processes.length]
  if (all === 0) return absent.length === 0 ? 'no process is excluded' : 'no excluded process is running'
  if (open === 0) return `all exclusions are complete: ${countOf(all)} without data and roles`
  return `${bytesText(bytesLeftIn(reading))} left: ${open} of ${countOf(all)} not finished`
}

function countOf(count: number): string {
  return count === 1 ? '1 excluded process' : `${count} excluded processes`
}

function progressLine(first: ExclusionReading, last: ExclusionReading): string {
  const { bytesPerSecond, secondsLeft } = estimateOf(first, last)
  const total = bytesLeftIn(first)
  const done = total === 0 ? '' : ` (${Math.max(0, Math.floor((1 - bytesLeftIn(last) / total) * 100))} % moved)`
  const rate =
    bytesPerSecond === undefined || secondsLeft === undefined
      ? ''
      : `, ${bytesText(bytesPerSecond)}/s, about ${durationText(secondsLeft * 1000)} left`
  return `${answerOf(last)}${done}${rate}`
}

function tableOf(processes: readonly ExcludedProcess[]): readonly string[] {
  const rows = [
    ['PROCESS GROUP', 'ADDRESS', 'ROLES', 'LEFT'],
    ...processes.map(({ name, address, roles, bytesLeft }) => [
      ...[name, address, roles.length === 0 ? '-' : roles.join(',')],
      roles.length === 0 ? 'excluded' : bytesText(bytesLeft),
    ]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('   ')
      .trimEnd(),
  )
}

function dataOf(first: ExclusionReading, last: ExclusionReading): object {
  return {
    bytesLeft: bytesLeftIn(last),
    isComplete: unfinished(last).length === 0,
    ...estimateOf(first, last),
    processes: last.processes,
    absent: last.absent,
  }
}
