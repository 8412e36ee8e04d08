// Compares two jobs of an object and formats the differences. Pure.

import type { WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { groupKindText, type Projection, writeJson } from '../../../workflows/kit/index.ts'
import { clientText, type ForeignWrite } from '../live-objects.ts'
import type { ChangedInput } from './job-inputs.ts'
import { changesBetween, specGenerationText, type VersionChange, historyData } from './versions.ts'
import { nodesOf, spanOf } from './draw-job-tree.ts'
import { type JobNode, phaseOf } from './job-tree.ts'
import {
  errorLines,
  isBad,
  errorText,
  nameOf,
  singleLine,
  type Cell,
  tableText,
  formatSpan,
  formatTime,
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

/** A write by another client between the starts of both jobs. */
interface Edit extends VersionChange {
  /** The client, if Kubernetes still has its write. */
  readonly by: ForeignWrite | undefined
}

/** The causes of differences. */
interface Causes {
  readonly edits: readonly Edit[]
  /** Undefined if the object was recreated, so that the inputs cannot be compared. */
  readonly inputs: readonly ChangedInput[] | undefined
}

interface JobsDiff extends Causes {
  readonly before: JobSide
  readonly after: JobSide
  /** All parts of either job, in the order of the later tree. */
  readonly objects: readonly ObjectDiff[]
  /** The writes whose numbers differ. */
  readonly writes: readonly WriteDiff[]
}

export function diffOf(before: JobSide, after: JobSide, causes: Causes): JobsDiff {
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
  return { before, after, ...causes, objects, writes: writesDiff(before.writes, after.writes) }
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
export function diffData({ before, after, edits, inputs, objects, writes }: JobsDiff): object {
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
  return {
    before: side(before),
    after: side(after),
    between: historyData(edits),
    inputs: inputs ?? null,
    objects,
    writes,
  }
}

const MOST_LINES = 50

interface DiffTextOptions {
  readonly paint: Paint
  /** Adds exact times, job IDs, counts of writes and all stored fields. */
  readonly isWide: boolean
  readonly now: Date
  /** The next useful command. */
  readonly next: string
}

/** The answer, the causes, then the details. */
export function diffText(diff: JobsDiff, options: DiffTextOptions): string {
  const { before, after, objects, inputs = [] } = diff
  const { paint, isWide, now, next } = options
  const timeText = (at: Date) => (isWide ? at.toISOString() : formatTime(at, now))
  const head = [
    ...(isWide ? [['job', idOf(before), idOf(after)]] : []),
    ['started', timeText(before.job.startedAt), timeText(after.job.startedAt)],
    ['cause', before.job.cause, after.job.cause],
    ['result', endOf(before), endOf(after)],
    ...(isWide ? [['writes', writesOf(before), writesOf(after)]] : []),
  ]
  const others = objects.filter(isChanged)
  const rows = others.map((one): readonly Cell[] => [
    one.name,
    cellOf(one.before),
    cellOf(one.after),
    `${lengthText(one.before)} -> ${lengthText(one.after)}`,
    noteOf(one, isWide ? LONGEST_NOTE : SHORT_NOTE),
  ])
  const same = objects.length - others.length
  return [
    answerText(diff, options),
    ...section(
      'Changed inputs:',
      inputs.map((one) => inputText(one, diff)),
    ),
    ...section(
      'Edits by other clients:',
      diff.edits.flatMap((edit) => editText(edit, options)),
    ),
    '\n',
    tableText(['', 'BEFORE', 'AFTER'], head, paint),
    ...(rows.length === 0 ? [] : ['\n', tableText(['PART', 'BEFORE', 'AFTER', 'DURATION', 'NOTE'], rows, paint)]),
    same === 0 ? '' : `${rows.length === 0 ? '\n' : ''}${same} ${same === 1 ? 'part' : 'parts'} ended as before.\n`,
    ...section('Error of the later job:', errorLines(after.job.lastError?.['message']), true),
    ...section('Changed fields:', changes(objects, isWide)),
    ...section(
      'Writes that occurred more or less often:',
      isWide ? diff.writes.map(({ write, before: old, after: count }) => `${write}: ${old} -> ${count}`) : [],
    ),
    `\nnext: ${next}\n`,
  ].join('')
}

const LONGEST_ANSWER = 300
/** The outcome of a job that ended with the object. */
export const DELETED = 'Deleted'

function answerText(diff: JobsDiff, { paint, isWide, now }: DiffTextOptions): string {
  const { before, after } = diff
  const [old, latest] = [resultOf(before), resultOf(after)]
  const name = paint('bold', singleLine(nameOf(after.tree.object)))
  const earlier = `before ${paint(colourOf(old), old)}`
  if (after.job.outcome === DELETED) {
    const at = after.job.finishedAt ?? after.tree.object.updatedAt
    return `${name}: was deleted at ${isWide ? at.toISOString() : formatTime(at, now)} by job ${idOf(after)}; ${earlier}\n`
  }
  const painted = paint(colourOf(latest), latest)
  const result = old === latest ? `${painted} in both jobs` : `${painted}, ${earlier}`
  return `${name}: ${result}; ${singleLine(causeText(diff), LONGEST_ANSWER)}\n`
}

function resultOf({ job }: JobSide): string {
  return singleLine(job.outcome === null ? `unfinished (${job.phase ?? '-'})` : (job.phase ?? job.outcome), 60)
}

const MOST_NAMES = 3

function causeText({ inputs, edits, after }: JobsDiff): string {
  if (inputs === undefined) return 'the object was recreated between the jobs'
  const specs = edits.filter(({ changes }) => changes.some((change) => change.startsWith(GENERATION)))
  const found = [...(inputs.length === 0 ? [] : [changedNames(inputs)]), ...new Set(specs.map(specEditText))]
  if (found.length > 0) return found.join('; ')
  // A job that fails while it reads or renders its inputs does not store them.
  return isBad(resultOf(after))
    ? 'the spec has not changed; inputs may have changed, because a job that fails early does not store them'
    : 'neither the spec nor an input has changed'
}

/** The journal stores no spec. A client that manages one field has changed this field; one of several fields is unknown. */
function specEditText({ by }: Edit): string {
  const fields = by?.fields.filter((field) => field.startsWith('spec')) ?? []
  const [field] = fields
  const changed = fields.length === 1 && field !== undefined ? field : 'the spec'
  return `${clientText(by)} changed ${changed}${fields.length > 1 ? `; it manages ${fields.join(', ')}` : ''}`
}

function changedNames(inputs: readonly ChangedInput[]): string {
  const [first] = inputs
  const names = [...new Set(inputs.map(({ name }) => `"${name}"`))]
  const more = names.length - MOST_NAMES
  const noun = `${first?.noun ?? ''}${names.length === 1 ? '' : 's'}`
  const values = inputs.length === 1 && first?.before !== undefined ? `: ${changeText(first)}` : ''
  return `${noun} ${names.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''} changed${values}`
}

const GENERATION = 'metadata.generation'

function inputText(input: ChangedInput, { after }: JobsDiff): string {
  const { of, name, source } = input
  const owner = of === nameOf(after.tree.object) ? '' : ` of ${of}`
  const from = source === undefined ? '' : ` (${source})`
  return `"${name}"${owner}${from}: ${changeText(input)}`
}

function changeText({ change, before, after }: ChangedInput): string {
  if (after === undefined) return change === 'changed' ? 'changed (value hidden)' : change
  if (change !== 'changed') return `${change}: ${valueText(after)}`
  return before === undefined
    ? `now ${valueText(after)}; the earlier value is not stored`
    : `${valueText(before)} -> ${valueText(after)}`
}

function valueText(value: unknown): string {
  return singleLine(typeof value === 'string' ? value : writeJson(value), 200)
}

function editText({ event, changes: fields, by }: Edit, { isWide, now }: DiffTextOptions): readonly string[] {
  const shownFields = isWide ? fields : fields.filter((field) => !isDetail(field))
  if (shownFields.length === 0 && !isWide) return []
  const version = isWide ? ` version ${event.version}` : ''
  const names = isWide ? shownFields : shownFields.map(specGenerationText)
  const what = names.length === 0 ? 'no stored field changed' : names.join('; ')
  const managed = by === undefined || by.fields.length === 0 ? '' : `; it manages ${by.fields.join(', ')}`
  return [
    `${isWide ? event.at.toISOString() : formatTime(event.at, now)}${version} by ${clientText(by)}: ${what}${managed}`,
  ]
}

/** Annotations, such as the request of the job, and hashes. */
function isDetail(change: string): boolean {
  return /^(?:metadata\.annotations|flow\.)/.test(change)
}

function idOf({ job }: JobSide): string {
  return job.jobID || job.workflowID
}

function endOf({ job }: JobSide): string {
  if (job.outcome === null || job.finishedAt === null) return `unfinished, in phase ${job.phase ?? '-'}`
  return `${job.outcome} after ${formatSpan(job.startedAt, job.finishedAt)}`
}

function writesOf({ writes, passes }: JobSide): string {
  const refused = writes.filter(({ error }) => error !== null).length
  const count = writes.length < MOST_WRITES ? `${writes.length}` : `at least ${writes.length}`
  const inPasses = passes === undefined ? '' : ` in ${passes} ${passes === 1 ? 'pass' : 'passes'}`
  return `${count}${inPasses}${refused === 0 ? '' : `, ${refused} refused`}`
}

/** True if phase or error differ, or if the object was a part of only one job. */
function isChanged({ before, after }: ObjectDiff): boolean {
  return before?.phase !== after?.phase || before?.error !== after?.error
}

function cellOf(state: ObjectState | undefined): Cell {
  return state === undefined ? '-' : { text: state.phase, colour: colourOf(state.phase) }
}

function lengthText(state: ObjectState | undefined): string {
  return state?.tookMs === undefined ? '-' : formatDuration(state.tookMs)
}

const SHORT_NOTE = 70
const LONGEST_NOTE = 160

function noteOf({ before, after }: ObjectDiff, longest: number): string {
  if (after === undefined) return 'only in the earlier job'
  const error = after.error === undefined ? '' : singleLine(after.error, longest)
  return [...(before === undefined ? ['only in the later job'] : []), ...(error === '' ? [] : [error])].join(': ')
}

function changes(objects: readonly ObjectDiff[], isWide: boolean): readonly string[] {
  return objects.flatMap(({ name, changes: fields }) =>
    fields.filter((field) => isWide || !isDetail(field)).map((field) => `${name}: ${field}`),
  )
}

/** @param isText lines of a text, whose indentation is kept. */
function section(title: string, lines: readonly string[], isText = false): readonly string[] {
  if (lines.length === 0) return []
  const more = lines.length - MOST_LINES
  const shownLines = [
    ...lines.slice(0, MOST_LINES),
    ...(more > 0 ? [`and ${more} more; -o json shows all of them`] : []),
  ]
  return [`\n${title}\n`, ...shownLines.map((line) => `  ${isText ? line : singleLine(line, 2000)}\n`)]
}
