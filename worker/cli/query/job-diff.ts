// Compares two jobs of an object and formats the differences. Pure.

import type { WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { groupKindText, type Projection } from '../../../workflows/kit/index.ts'
import { changesBetween, type VersionChange, historyData } from './versions.ts'
import { nodesOf, spanOf } from './draw-job-tree.ts'
import { type JobNode, phaseOf } from './job-tree.ts'
import {
  errorText,
  nameOf,
  singleLine,
  type Cell,
  tableText,
  formatSpan as lengthOf,
  colourOf,
  formatDuration,
  type Paint,
} from './format.ts'
import { MOST_WRITES } from '../../../activities/journal/read/limits.ts'

export interface JobSide {
  readonly tree: JobNode
  readonly job: JobRecord
  /** By uid: the stored fields at the object's last event in the job. */
  readonly projections: ReadonlyMap<string, Projection>
  readonly writes: readonly WriteRecord[]
  readonly passes: number | undefined
}

/** The state of one object at the end of a job, and the duration in milliseconds. */
interface ObjectState {
  readonly phase: string
  readonly tookMs: number | undefined
  readonly error: string | undefined
}

interface ObjectDiff {
  readonly name: string
  /** Undefined if the object was no part of that job. */
  readonly before: ObjectState | undefined
  readonly after: ObjectState | undefined
  /** Changed fields outside of the status, which the state shows. */
  readonly changes: readonly string[]
}

interface WriteDiff {
  readonly write: string
  readonly before: number
  readonly after: number
}

interface JobsDiff {
  readonly before: JobSide
  readonly after: JobSide
  /** Writes by other clients between the starts of both jobs. */
  readonly between: readonly VersionChange[]
  /** All parts of either job, in the order of the later tree. */
  readonly objects: readonly ObjectDiff[]
  /** The writes whose numbers differ. */
  readonly writes: readonly WriteDiff[]
}

export function diffOf(before: JobSide, after: JobSide, between: readonly VersionChange[]): JobsDiff {
  const [old, now] = [partsOf(before), partsOf(after)]
  const keys = [...new Set([...now.keys(), ...old.keys()])]
  const objects = keys.map((key): ObjectDiff => {
    const [one, other] = [old.get(key), now.get(key)]
    return {
      name: nameOf((other ?? one ?? after.tree).object),
      before: one && stateOf(one, before.job),
      after: other && stateOf(other, after.job),
      changes: projectionChanges(
        one && before.projections.get(one.object.uid),
        other && after.projections.get(other.object.uid),
      ),
    }
  })
  return { before, after, between, objects, writes: writesDiff(before.writes, after.writes) }
}

/** By kind, namespace and name, so that recreated objects are compared too. */
function partsOf({ tree, projections }: JobSide): ReadonlyMap<string, JobNode> {
  const parts = nodesOf(tree).filter(({ object, job }) => job !== undefined || projections.has(object.uid))
  return new Map(
    parts.map((node) => [`${groupKindText(node.object)} ${node.object.namespace}/${node.object.name}`, node]),
  )
}

function stateOf(node: JobNode, whole: JobRecord): ObjectState {
  const span = spanOf(node, whole, new Date())
  return {
    phase: phaseOf(node),
    tookMs: span === undefined ? undefined : span.to.getTime() - span.from.getTime(),
    error: errorText(node.job?.lastError),
  }
}

function projectionChanges(before: Projection | undefined, after: Projection | undefined): readonly string[] {
  if (before === undefined || after === undefined) return []
  return changesBetween(before, after).filter((change) => !change.startsWith('status.'))
}

function writesDiff(before: readonly WriteRecord[], after: readonly WriteRecord[]): readonly WriteDiff[] {
  const [old, now] = [counted(before), counted(after)]
  return [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((write) => {
    const [one, other] = [old.get(write) ?? 0, now.get(write) ?? 0]
    return one === other ? [] : [{ write, before: one, after: other }]
  })
}

function counted(writes: readonly WriteRecord[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { verb, object, error } of writes) {
    const write = singleLine(`${verb} ${object}${error === null ? '' : ', refused'}`)
    counts.set(write, (counts.get(write) ?? 0) + 1)
  }
  return counts
}

/** The differences as JSON. */
export function diffData({ before, after, between, objects, writes }: JobsDiff): object {
  const side = ({ job, writes: all, passes }: JobSide) => ({
    jobID: job.jobID,
    workflowID: job.workflowID,
    cause: job.cause,
    phase: job.phase,
    outcome: job.outcome,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    lastError: job.lastError,
    writes: all.length,
    refused: all.filter(({ error }) => error !== null).length,
    passes: passes ?? null,
  })
  return { before: side(before), after: side(after), between: historyData(between), objects, writes }
}

const MOST_LINES = 50

export function diffText(diff: JobsDiff, paint: Paint): string {
  const { before, after, objects } = diff
  const head = [
    ['began', before.job.startedAt.toISOString(), after.job.startedAt.toISOString()],
    ['because of', before.job.cause, after.job.cause],
    ['ended', endOf(before), endOf(after)],
    ['writes', writesOf(before), writesOf(after)],
  ]
  const others = objects.filter(isChanged)
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

/** True if phase or error differ, or if the object was a part of only one job. */
function isChanged({ before, after }: ObjectDiff): boolean {
  return before?.phase !== after?.phase || before?.error !== after?.error
}

function cellOf(standing: ObjectState | undefined): Cell {
  return standing === undefined ? '-' : { text: standing.phase, colour: colourOf(standing.phase) }
}

function lengthText(standing: ObjectState | undefined): string {
  return standing?.tookMs === undefined ? '-' : formatDuration(standing.tookMs)
}

function noteOf({ before, after }: ObjectDiff): string {
  if (after === undefined) return 'no part of the later job'
  const error = after.error === undefined ? '' : singleLine(after.error, 160)
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
  const shownLines = [...lines.slice(0, MOST_LINES), ...(more > 0 ? [`and ${more} more; -o json has all`] : [])]
  return [`\n${title}\n`, ...shownLines.map((line) => `  ${singleLine(line, 2000)}\n`)]
}
