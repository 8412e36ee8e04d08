// Formats the explanation of a job: the answer, the chain of objects down to the root cause, and the events that led to
// the job, the oldest first. Pure.
//
//   W1. The first line is the answer. The next useful command is the last line.
//   W2. Times are short and local. Exact times, versions, IDs and addresses are printed with `-o wide` and in JSON only.

import type { EventRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import { MOST_WRITES } from '../../../activities/journal/read/limits.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { Cause } from './causes.ts'
import { changesBetween, requesterIn, specGenerationText } from './versions.ts'
import { phasesText } from './draw-job-tree.ts'
import { hasFailed, isOpen, type JobNode, phaseOf } from './job-tree.ts'
import { clientText, type ForeignWrite, writeOfEvent } from '../live-objects.ts'
import { isInLevelMode } from './explain-status.ts'
import { deletionOrder } from './deletion-order.ts'
import { type Interrupt, interruptSentence, isDeletionWaiting } from './edits-during-job.ts'
import {
  colourOf,
  deletionIn,
  errorLines,
  formatSpan,
  formatTime,
  errorText,
  nameOf,
  type Paint,
  plainPaint,
  singleLine,
} from './format.ts'

interface WhyInput {
  /** The cause of the object's own job first, the root cause last. */
  readonly causes: readonly Cause[]
  /** Writes of the job's run, in order. */
  readonly writes: readonly WriteRecord[]
  /** Number of passes of the run; undefined for a hosted job and if the journal has no run of the job. */
  readonly passes: number | undefined
  /** The run's page in Temporal's UI, if the UI's address is known. */
  readonly page?: string | undefined
  /** The newest event of the object. */
  readonly newest: EventRecord | undefined
  /** From the object to the root cause. */
  readonly path: readonly JobNode[]
  /** Sentences about the reasons why the last object in `path` is not ready; the first one is the answer. */
  readonly reasons: readonly string[]
  /** Sentences about pauses and queue positions of the objects in `path`. */
  readonly queueSentences: readonly string[]
  /** For a first object in level mode that is not the last one in `path`: its own state, such as the next run. */
  readonly subjectSummary?: string | undefined
  readonly now: Date
  /** W2 */
  readonly wide: boolean
  /** Writes by other clients, by uid of the written object. */
  readonly foreignWrites: ReadonlyMap<string, ForeignWrite>
  readonly interrupt?: Interrupt | undefined
  /** The last line. */
  readonly next: string
}

interface Explanation {
  readonly answer: string
  /** From the object to the root cause. */
  readonly now: readonly string[]
  /** The lines of an error with several lines, such as the excerpt of a template. */
  readonly error: readonly string[]
  readonly happened: readonly string[]
  readonly next: string
}

export function explainJob(input: WhyInput): Explanation {
  const [ownCause] = input.causes
  const [answer = '', ...chain] = currentSentences(input)
  return {
    answer: singleLine(answer, 2000),
    now: chain.map((sentence) => singleLine(sentence, 2000)),
    error: errorLines(input.path.findLast(({ job }) => job?.lastError != null)?.job?.lastError?.['message']),
    happened: [
      ...input.causes.toReversed().flatMap((cause) => causeSentences(cause, input)),
      ...(ownCause?.job === undefined ? [] : jobSentences(ownCause.job, input)),
      ...(input.newest === undefined || ownCause === undefined || !input.wide
        ? []
        : [newestEventSentence(input.newest, ownCause.object)]),
    ].map((sentence) => singleLine(sentence, 2000)),
    next: input.next,
  }
}

// The answer and the chain.

function currentSentences({ path, reasons, queueSentences, subjectSummary }: WhyInput): readonly string[] {
  const [subject] = path
  if (subject === undefined) return []
  const chain = path.slice(1).map((node, index) => {
    const waiting = path[index] ?? subject
    const verb = hasFailed(node) ? 'failed because of' : 'waits for'
    return `${withPhase(waiting)} ${verb} ${withPhase(node)}.`
  })
  const sentences = [...queueSentences, ...reasons]
  const [first, ...rest] = sentences.length > 0 ? sentences : [settledSentence(path)]
  const isAboutSubject = path.length === 1 || queueSentences.length > 0
  const phase = phaseOf(subject)
  const state = deletionText(subject) ?? (phase === '-' ? undefined : `is ${phase}: `)
  const name = `${nameOf(subject.object)}${state === undefined ? ': ' : ` ${state}`}`
  const own = subjectSummary === undefined ? '' : `${subjectSummary}; `
  const answer = isAboutSubject ? (first ?? '') : `${name}${own}${shortened(path, first ?? '')}`
  return [answer, ...chain, ...rest]
}

function withPhase(node: JobNode): string {
  const phase = phaseOf(node)
  return phase === '-' ? nameOf(node.object) : `${nameOf(node.object)} (${phase})`
}

/** For a deletion that removes items. */
function deletionText(subject: JobNode): string | undefined {
  const isDeleting =
    isOpen(subject) && !isDeletionWaiting(subject) && deletionIn(subject.object.projection) !== undefined
  const order = isDeleting && !hasFailed(subject) ? deletionOrder(subject) : undefined
  return order === undefined ? undefined : `deletes ${order}; now `
}

/** Without the phase of the root cause, which the chain shows. */
function shortened(path: readonly JobNode[], reason: string): string {
  const last = path.at(-1)
  if (last === undefined) return reason
  const name = nameOf(last.object)
  const begin = `${name} is ${phaseOf(last)}: `
  return reason.startsWith(begin) ? `${name}: ${reason.slice(begin.length)}` : reason
}

function settledSentence(path: readonly JobNode[]): string {
  const [subject] = path
  const last = path.at(-1)
  if (subject === undefined || last === undefined) return ''
  if (subject.object.deleted) return `${nameOf(subject.object)} is deleted.`
  const phase = phaseOf(last)
  if (isInLevelMode(last) && !hasFailed(last)) return levelSentence(last)
  const isDone = !isOpen(subject) && !hasFailed(subject)
  if (isDone && phase === '-') return `${nameOf(last.object)} waits for nothing.`
  const state = `${nameOf(last.object)} is ${phase}`
  return isDone ? `${state} and waits for nothing.` : `${state}; the journal has no object that it waits for.`
}

/** For an object whose last pass had no fault. */
function levelSentence(node: JobNode): string {
  const [name, phase] = [nameOf(node.object), phaseOf(node)]
  if (phase !== '-') return `${name} is ${phase}: the last pass had no fault.`
  return `${name}: the last pass had no fault; the journal does not have its condition "Ready" (add status.conditions to the projection of the kind).`
}

// The events and the job.

function timeText(at: Date, { now, wide }: Pick<WhyInput, 'now' | 'wide'>): string {
  return wide ? at.toISOString() : formatTime(at, now)
}

function causeSentences(cause: Cause, input: WhyInput): readonly string[] {
  const { object, job, trigger } = cause
  const isDeletion = !input.wide && requestsDeletion(cause)
  const foreignWrite = input.foreignWrites.get(object.uid)
  const version = input.wide && trigger !== undefined ? ` (version ${trigger.version})` : ''
  return [
    trigger === undefined
      ? `The journal no longer has the event that started ${job === undefined ? 'anything' : jobName(job, object, input)}.`
      : `${timeText(trigger.at, input)} ${writerOf(cause, foreignWrite, input)} ${isDeletion ? 'requested the deletion of' : verbOf(trigger)} ${nameOf(object)}${version}${isDeletion ? '' : `${changesText(cause, input)}${ownedFieldsText(cause, foreignWrite, input)}`}.`,
    ...(job === undefined ? [] : [beginSentence(job, object, input)]),
  ]
}

function jobName({ jobID }: JobRecord, object: ObjectRecord, { wide }: WhyInput): string {
  if (jobID === '') return `the reconcile of ${nameOf(object)}`
  return wide ? `job ${jobID} of ${nameOf(object)}` : `the job of ${nameOf(object)}`
}

function beginSentence(job: JobRecord, object: ObjectRecord, input: WhyInput): string {
  const cause = job.cause === 'hosted' ? 'in the run of its owner' : job.cause
  const run = input.wide ? `; run ${job.workflowID}` : ''
  return `${timeText(job.startedAt, input)} ${jobName(job, object, input)} started (${cause}${run}).`
}

function ownedFieldsText({ trigger }: Cause, foreignWrite: ForeignWrite | undefined, { wide }: WhyInput): string {
  const isShown = wide || trigger?.type === 'MODIFIED'
  return !isShown || foreignWrite === undefined || foreignWrite.fields.length === 0
    ? ''
    : `; it manages ${foreignWrite.fields.join(', ')}`
}

function writerOf(cause: Cause, foreignWrite: ForeignWrite | undefined, { wide }: WhyInput): string {
  const { trigger, before } = cause
  const requester = trigger && requesterIn(trigger, changesBetween(before?.projection, trigger.projection))
  if (requester !== undefined) return `${requester},`
  if (trigger === undefined || trigger.writer === null || foreignWrite !== undefined)
    return `${clientText(foreignWrite)}${trigger?.source === 'relist' ? ' (the bridge saw it in a later list)' : ''}`
  return runText(cause, trigger.writer, wide)
}

function runText({ run, write }: Cause, writer: string, wide: boolean): string {
  const who = run === undefined ? `run ${writer}` : `the run of ${run.controller} ${run.namespace}/${run.name}`
  return write === undefined || !wide ? who : `${who}, in pass ${write.pass}, step ${write.step},`
}

function verbOf({ type }: EventRecord): string {
  return { ADDED: 'created', MODIFIED: 'changed', DELETED: 'removed' }[type]
}

function requestsDeletion({ trigger, before }: Cause): boolean {
  if (trigger === undefined || before === undefined) return false
  return deletionIn(trigger.projection) !== undefined && deletionIn(before.projection) === undefined
}

const MOST_CHANGES = 8

/** The request for a job; the other fields of a new object are its manifest. */
const REQUEST = /^metadata\.annotations\."[^"]*operation"/
/** Hashes of names. */
const INTERNAL = /^flow\./

function isShownChange(change: string, { type, writer }: EventRecord): boolean {
  if (writer !== null) return false
  return type === 'ADDED' ? REQUEST.test(change) : !INTERNAL.test(change)
}

function changesText({ trigger, before }: Cause, { wide }: WhyInput): string {
  if (trigger === undefined || trigger.type === 'DELETED') return ''
  const all = changesBetween(before?.projection, trigger.projection)
  const changes = wide ? all : all.filter((change) => isShownChange(change, trigger)).map(specGenerationText)
  const omitted = changes.length - MOST_CHANGES
  if (changes.length === 0) return ''
  return `: ${changes.slice(0, MOST_CHANGES).join('; ')}${omitted > 0 ? `; and ${omitted} more fields` : ''}`
}

function jobSentences(job: JobRecord, input: WhyInput): readonly string[] {
  const { writes, passes, page, now, wide } = input
  const phases = phasesText(job, now)
  const refused = writes.filter(({ error }) => error !== null)
  const last = writes.at(-1)
  return [
    ...(page === undefined || !wide ? [] : [`Its run in Temporal's UI: ${page}`]),
    ...(last === undefined || !wide
      ? []
      : [
          `Its run made ${writesText(writes.length)}${passes === undefined ? '' : ` in ${passes} ${passes === 1 ? 'pass' : 'passes'}`}, the API server refused ${refused.length}; the last: ${writeText(last)}.`,
        ]),
    ...refused.slice(-3).map((write) => refusedSentence(write, input)),
    ...(input.interrupt === undefined ? [] : [interruptSentence(input.interrupt, (at) => timeText(at, input))]),
    ...(phases === '' ? [] : [`Phases: ${phases}.`]),
    endSentence(job, input),
  ]
}

function refusedSentence(write: WriteRecord, input: WhyInput): string {
  const what = input.wide ? writeText(write) : `${timeText(write.at, input)} ${write.verb} ${write.object}`
  return `The API server refused a write: ${what}: ${errorText(write.error) ?? 'no message'}.`
}

function endSentence(job: JobRecord, input: WhyInput): string {
  const { outcome, finishedAt, startedAt, phase } = job
  // The answer has the error of the root cause.
  const error = input.wide || input.path.length < 2 ? errorText(job.lastError) : undefined
  const what = job.jobID === '' ? 'run' : 'job'
  if (outcome !== null && finishedAt !== null)
    return `${timeText(finishedAt, input)} the ${what} ended: ${outcome} after ${formatSpan(startedAt, finishedAt)}${error === undefined ? '' : `: ${error}`}.`
  const since = formatSpan(startedAt, input.now)
  return job.jobID === ''
    ? `Its run exists for ${since}.`
    : `The job runs for ${since}, in phase ${phase ?? '(none yet)'}.`
}

function writesText(count: number): string {
  return count === 1 ? '1 write' : `${count < MOST_WRITES ? count : `at least ${count}`} writes`
}

function writeText({ pass, step, verb, object, version, at }: WriteRecord): string {
  return `${at.toISOString()} pass ${pass}, step ${step}, ${verb} ${object}${version === null ? '' : ` (version ${version})`}`
}

function newestEventSentence(event: EventRecord, object: ObjectRecord): string {
  const result =
    event.outcome === 'wake' ? 'woke a run' : `${event.outcome}${event.reason === null ? '' : `: ${event.reason}`}`
  const writer = event.writer === null ? clientText(writeOfEvent(event, undefined)) : `run ${event.writer}`
  return `The newest event of ${nameOf(object)}: ${event.at.toISOString()} ${event.type} version ${event.version} by ${writer}; ${result}.`
}

/** W1. @param phases the phases to colour. */
export function explanationText(
  { answer, now, error, happened, next }: Explanation,
  paint: Paint = plainPaint,
  phases: ReadonlySet<string> = new Set(),
): string {
  const section = (title: string, sentences: readonly string[]) =>
    sentences.length === 0 ? [] : ['', paint('bold', title), ...sentences.map((sentence) => `  ${sentence}`)]
  const coloured = (text: string) =>
    text.replace(/(?<= is | \()\w+(?=[):.;]| and )/g, (word) => (phases.has(word) ? paint(colourOf(word), word) : word))
  return [
    coloured(answer),
    ...section('Because:', now.map(coloured)),
    ...section('The error:', error),
    ...section('What happened:', happened),
    '',
    next,
  ]
    .map((line) => `${line}\n`)
    .join('')
}
