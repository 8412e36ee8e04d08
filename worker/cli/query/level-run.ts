// Formats a run in level mode for `pawl trace`: the newest writes of its passes, and the command that shows the passes.
// Pure.

import type { WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { errorText, formatTime, type Paint, singleLine } from './format.ts'

/** Older writes are not shown. */
const MOST_WRITES = 20

interface LevelRunOptions {
  readonly now: Date
  readonly paint: Paint
  /** The command that replays the run. */
  readonly replay: string
}

/** Without the writes of earlier runs: all runs of an object in level mode have the same workflow ID. */
export function writesOfRun(
  writes: readonly WriteRecord[],
  { startedAt }: Pick<JobRecord, 'startedAt'>,
): readonly WriteRecord[] {
  return writes.filter(({ at }) => at >= startedAt)
}

/**
 * A run in level mode has no child jobs, so its tree is one line.
 *
 * @param own the writes of the run, in the order of the journal.
 */
export function levelRunText(own: readonly WriteRecord[], options: LevelRunOptions): string {
  const more = own.length - MOST_WRITES
  return [
    ...(more > 0 ? [`${more} earlier ${more === 1 ? 'write' : 'writes'} not shown`] : []),
    ...own.slice(-MOST_WRITES).map((write) => writeLine(write, options)),
    `a run in level mode${own.length === 0 ? ', without a write' : ''}; its passes: ${options.replay}`,
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function writeLine(write: WriteRecord, { now, paint }: LevelRunOptions): string {
  const { at, pass, step, object, verb } = write
  return `${formatTime(at, now)}  pass ${pass}  ${singleLine(`${verb} ${object} (${step})`, 400)} -> ${resultOf(write, paint)}`
}

function resultOf({ version, error, answeredAt }: WriteRecord, paint: Paint): string {
  if (error !== null) return paint('red', errorText(error, 500) ?? 'failed')
  if (version !== null) return `version ${version}`
  return answeredAt === null ? 'no answer' : 'done'
}
