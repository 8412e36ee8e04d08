// Two jobs side by side as text. Pure.

import { MOST_WRITES } from '../../../activities/journal/read/limits.ts'
import type { JobsDiff, JobSide, ObjectDiff, Standing } from './job-diff.ts'
import { type Cell, tableText } from './table.ts'
import { between as lengthOf, colourOf, duration, nameOf, type Paint, shown } from './texts.ts'

const MOST_LINES = 50

export function diffText(diff: JobsDiff, paint: Paint): string {
  const { before, after, objects } = diff
  const head = [
    ['began', before.job.startedAt.toISOString(), after.job.startedAt.toISOString()],
    ['because of', before.job.cause, after.job.cause],
    ['ended', endOf(before), endOf(after)],
    ['writes', writesOf(before), writesOf(after)],
  ]
  const others = objects.filter(isOther)
  const rows = others.map((one): readonly Cell[] => [
    one.name,
    cellOf(one.before),
    cellOf(one.after),
    `${lengthText(one.before)} -> ${lengthText(one.after)}`,
    noteOf(one),
  ])
  const same = objects.length - others.length
  return [
    tableText([nameOf(after.tree.object), idOf(before), idOf(after)], head, paint),
    ...section('Edited between the two beginnings, by others than Pawl:', edits(diff)),
    ...(rows.length === 0 ? [] : ['\n', tableText(['PART', 'BEFORE', 'AFTER', 'DURATION', 'NOTE'], rows, paint)]),
    same === 0 ? '' : `${rows.length === 0 ? '\n' : ''}${same} ${same === 1 ? 'part' : 'parts'} ended as before.\n`,
    ...section('Changed of what the journal keeps:', changes(objects)),
    ...section(
      'Written more or less often:',
      diff.writes.map(({ write, before: old, after: now }) => `${write}: ${old} -> ${now}`),
    ),
  ].join('')
}

function idOf({ job }: JobSide): string {
  return job.jobID || job.workflowID
}

function endOf({ job }: JobSide): string {
  if (job.outcome === null || job.finishedAt === null) return `goes on, in phase ${job.phase ?? '-'}`
  return `${job.outcome} after ${lengthOf(job.startedAt, job.finishedAt)}`
}

function writesOf({ writes, passes }: JobSide): string {
  const refused = writes.filter(({ error }) => error !== null).length
  const count = writes.length < MOST_WRITES ? `${writes.length}` : `at least ${writes.length}`
  return `${count}${passes === undefined ? '' : ` in ${passes} passes`}${refused === 0 ? '' : `, ${refused} refused`}`
}

/** It stands elsewhere, for another reason, or was no part of one of the jobs. */
function isOther({ before, after }: ObjectDiff): boolean {
  return before?.phase !== after?.phase || before?.error !== after?.error
}

function cellOf(standing: Standing | undefined): Cell {
  return standing === undefined ? '-' : { text: standing.phase, colour: colourOf(standing.phase) }
}

function lengthText(standing: Standing | undefined): string {
  return standing?.tookMs === undefined ? '-' : duration(standing.tookMs)
}

function noteOf({ before, after }: ObjectDiff): string {
  if (after === undefined) return 'no part of the later job'
  const error = after.error === undefined ? '' : shown(after.error, 160)
  return [...(before === undefined ? ['new in the later job'] : []), ...(error === '' ? [] : [error])].join(': ')
}

function edits({ between }: JobsDiff): readonly string[] {
  return between.flatMap(({ event, changes: fields }) => [
    `${event.at.toISOString()} version ${event.version}: ${fields.length === 0 ? 'nothing that the journal keeps' : fields.join('; ')}`,
  ])
}

function changes(objects: readonly ObjectDiff[]): readonly string[] {
  return objects.flatMap(({ name, changes: fields }) => fields.map((field) => `${name}: ${field}`))
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const more = lines.length - MOST_LINES
  const told = [...lines.slice(0, MOST_LINES), ...(more > 0 ? [`and ${more} more; -o json has all`] : [])]
  return [`\n${title}\n`, ...told.map((line) => `  ${shown(line, 2000)}\n`)]
}
