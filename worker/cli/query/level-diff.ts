// The answer of `pawl diff` for an object in level mode, which has passes instead of jobs: the last edit by another
// client, and the writes of Pawl since that edit. Pure.

import type { WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import { clientText, type ForeignWrite } from '../live-objects.ts'
import { formatTime, type Paint, singleLine } from './format.ts'
import { levelRunText } from './level-run.ts'
import { historyData, specGenerationText, type VersionChange } from './versions.ts'

const MOST_FIELDS = 5

export interface LevelDiff {
  /** The last version that another client wrote; undefined if the journal has none. */
  readonly edit: VersionChange | undefined
  /** The client, if Kubernetes still stores its write. */
  readonly by: ForeignWrite | undefined
  /** Since the edit, in the order of the journal. */
  readonly writes: readonly WriteRecord[]
}

interface LevelDiffOptions {
  readonly paint: Paint
  readonly isWide: boolean
  readonly now: Date
  /** Kind, namespace and name. */
  readonly name: string
  /** The command that replays the passes. */
  readonly replay: string
  /** The next useful command. */
  readonly next: string
}

/** The last version that changes more than the status, and that Pawl did not write. */
export function lastEdit(known: readonly VersionChange[]): VersionChange | undefined {
  return known.findLast(
    ({ event, changes }) => event.writer === null && changes.some((change) => !change.startsWith('status.')),
  )
}

export function levelDiffText({ edit, by, writes }: LevelDiff, options: LevelDiffOptions): string {
  const { paint, name, next } = options
  const count = writes.length === 0 ? 'no write' : `${writes.length} ${writes.length === 1 ? 'write' : 'writes'}`
  const lines = [
    `${paint('bold', name)}: ${edit === undefined ? 'the journal has no edit' : editText(edit, by, options)}; ${count} by Pawl since`,
    '',
    ...levelRunText(writes, options).trimEnd().split('\n'),
    'level mode has no jobs to compare: a pass starts at each change',
    '',
    `next: ${next}`,
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function editText(
  { event, changes }: VersionChange,
  by: ForeignWrite | undefined,
  { isWide, now }: LevelDiffOptions,
): string {
  const time = isWide ? event.at.toISOString() : formatTime(event.at, now)
  if (event.type === 'DELETED') return `was deleted at ${time}`
  if (event.type === 'ADDED') return `created at ${time} by ${clientText(by)}, and not edited since`
  const fields = changes.filter((change) => !change.startsWith('status.')).map(specGenerationText)
  const more = fields.length - MOST_FIELDS
  const shown = fields.slice(0, isWide ? undefined : MOST_FIELDS).join('; ')
  return `${clientText(by)} changed ${singleLine(shown, 1000)}${!isWide && more > 0 ? ` and ${more} more fields` : ''} at ${time}`
}

export function levelDiffData({ edit, by, writes }: LevelDiff): object {
  return { edit: edit === undefined ? null : { ...historyData([edit])[0], by: by ?? null }, writes }
}
