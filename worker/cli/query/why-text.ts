// Formats the causes of a job and its current state as sentences, the oldest first. Pure.

import type { EventRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import { MOST_WRITES } from '../../../activities/journal/read/limits.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { Cause } from './causes.ts'
import { changesBetween } from './versions.ts'
import { phasesText } from './draw-job-tree.ts'
import { hasFailed, isOpen, type JobNode, phaseOf } from './job-tree.ts'
import type { ForeignWrite } from '../live-objects.ts'
import { formatSpan, errorText, nameOf, singleLine } from './format.ts'

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
  /** Sentences about the reasons why the last object in `path` is not ready. */
  readonly reasons: readonly string[]
  /** Sentences about pauses and queue positions of the objects in `path`. */
  readonly queueSentences: readonly string[]
  readonly now: Date
  /** Writes by other clients, by uid of the written object. */
  readonly foreignWrites: ReadonlyMap<string, ForeignWrite>
}

interface Explanation {
  readonly happened: readonly string[]
  readonly now: readonly string[]
}

export function explainJob(input: WhyInput): Explanation {
  const [ownCause] = input.causes
  return {
    happened: [
      ...input.causes.toReversed().flatMap((cause) => causeSentences(cause, input.foreignWrites.get(cause.object.uid))),
      ...(ownCause?.job === undefined ? [] : jobSentences(ownCause.job, input)),
      ...(input.newest === undefined || ownCause === undefined
        ? []
        : [newestEventSentence(input.newest, ownCause.object)]),
    ].map((sentence) => singleLine(sentence, 2000)),
    now: currentSentences(input).map((sentence) => singleLine(sentence, 2000)),
  }
}

function causeSentences(cause: Cause, foreignWrite: ForeignWrite | undefined): readonly string[] {
  const { object, job, trigger } = cause
  return [
    trigger === undefined
      ? `The journal does not have the event that began ${job === undefined ? 'anything' : `job ${idOf(job)}`} of ${nameOf(object)} any more.`
      : `${trigger.at.toISOString()} ${writerOf(cause, foreignWrite)} ${verbOf(trigger)} ${nameOf(object)} (version ${trigger.version})${changesText(cause)}.${ownedFieldsText(foreignWrite)}`,
    ...(job === undefined ? [] : [beginSentence(job, object)]),
  ]
}

function beginSentence(job: JobRecord, object: ObjectRecord): string {
  const run = job.cause === 'hosted' ? `hosted by run ${job.workflowID}` : `${job.cause}; run ${job.workflowID}`
  return `${job.startedAt.toISOString()} job ${idOf(job)} of ${nameOf(object)} began (${run}).`
}

function idOf({ jobID }: JobRecord): string {
  return jobID === '' ? '(level mode)' : jobID
}

function ownedFieldsText(foreignWrite: ForeignWrite | undefined): string {
  return foreignWrite === undefined || foreignWrite.fields.length === 0
    ? ''
    : ` ${foreignWrite.manager} holds ${foreignWrite.fields.join(', ')}.`
}

function writerOf({ trigger, run, write }: Cause, foreignWrite: ForeignWrite | undefined): string {
  if (foreignWrite !== undefined) return `${foreignWrite.manager} (as it calls itself)`
  if (trigger?.writer === null || trigger === undefined)
    return trigger?.source === 'relist' ? 'somebody, seen with a list later,' : "somebody beside Pawl's runs"
  const who = run === undefined ? `run ${trigger.writer}` : `the run of ${run.controller} ${run.namespace}/${run.name}`
  return write === undefined ? who : `${who}, in pass ${write.pass}, step ${write.step},`
}

function verbOf({ type }: EventRecord): string {
  return { ADDED: 'created', MODIFIED: 'changed', DELETED: 'removed' }[type]
}

const MOST_CHANGES = 8

function changesText({ trigger, before }: Cause): string {
  if (trigger === undefined || trigger.type === 'DELETED') return ''
  const changes = changesBetween(before?.projection, trigger.projection)
  const omitted = changes.length - MOST_CHANGES
  if (changes.length === 0) return ''
  return `: ${changes.slice(0, MOST_CHANGES).join('; ')}${omitted > 0 ? `; and ${omitted} fields more` : ''}`
}

function jobSentences(job: JobRecord, { writes, passes, page, now }: WhyInput): readonly string[] {
  const phases = phasesText(job, now)
  const refused = writes.filter(({ error }) => error !== null)
  const last = writes.at(-1)
  const error = errorText(job.lastError)
  return [
    ...(page === undefined ? [] : [`Its run in Temporal's UI: ${page}`]),
    ...(last === undefined
      ? []
      : [
          `Its run made ${writesText(writes.length)}${passes === undefined ? '' : ` in ${passes} ${passes === 1 ? 'pass' : 'passes'}`}, ${refused.length} of which were refused; the last: ${writeText(last)}.`,
        ]),
    ...refused.slice(-3).map((write) => `Refused: ${writeText(write)}: ${errorText(write.error) ?? 'no message'}.`),
    ...(phases === '' ? [] : [`Phases: ${phases}.`]),
    job.outcome === null || job.finishedAt === null
      ? `It goes on since ${formatSpan(job.startedAt, now)}, in phase ${job.phase ?? '-'}.`
      : `${job.finishedAt.toISOString()} it ended ${job.outcome} after ${formatSpan(job.startedAt, job.finishedAt)}${error === undefined ? '' : `: ${error}`}.`,
  ]
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
  const writer = event.writer === null ? "somebody beside Pawl's runs" : `run ${event.writer}`
  return `The newest event of ${nameOf(object)}: ${event.at.toISOString()} ${event.type} version ${event.version} by ${writer}; ${result}.`
}

function currentSentences({ path, reasons, queueSentences }: WhyInput): readonly string[] {
  const [subject] = path
  if (subject === undefined) return []
  const isDone = !isOpen(subject) && !hasFailed(subject)
  const chain = path.slice(1).map((node, index) => {
    const waiting = path[index] ?? subject
    const verb = hasFailed(node) ? 'failed with' : 'waits for'
    return `${nameOf(waiting.object)} (${phaseOf(waiting)}) ${verb} ${nameOf(node.object)} (${phaseOf(node)}).`
  })
  const sentences = [...queueSentences, ...chain, ...reasons]
  if (sentences.length > 0) return sentences
  return [
    isDone
      ? `${nameOf(subject.object)} is ${phaseOf(subject)} and waits for nothing.`
      : `${nameOf(subject.object)} is ${phaseOf(subject)}; the journal has nothing that it waits for.`,
  ]
}

export function explanationText({ happened, now }: Explanation): string {
  return [...happened, '', 'Now:', ...now.map((sentence) => `  ${sentence}`)].map((line) => `${line}\n`).join('')
}
