// The causal chain of a job in sentences, the oldest first. Pure.

import type { EventRecord, WriteRecord } from '../../../activities/journal/read/event-queries.ts'
import { MOST_WRITES } from '../../../activities/journal/read/limits.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import type { Cause } from './causes.ts'
import { changesBetween } from './versions.ts'
import { phasesText } from './draw-job-tree.ts'
import { hasFailed, isOpen, type JobNode, phaseOf } from './job-tree.ts'
import type { HandWrite } from '../live-objects.ts'
import { between, errorText, nameOf, shown } from './format.ts'

interface Story {
  readonly causes: readonly Cause[]
  /** Of the job's run, in order. */
  readonly writes: readonly WriteRecord[]
  readonly passes: number | undefined
  /** In Temporal's UI, where that is known. */
  readonly page?: string | undefined
  readonly newest: EventRecord | undefined
  /** From the object that was asked about down to the bottom. */
  readonly path: readonly JobNode[]
  readonly reasons: readonly string[]
  /** What of the path waits for its turn. */
  readonly turns: readonly string[]
  readonly now: Date
  /** By uid of the objects of the causes: who wrote it, where that was nobody of Pawl. */
  readonly byHand: ReadonlyMap<string, HandWrite>
}

interface Chapters {
  readonly happened: readonly string[]
  readonly now: readonly string[]
}

export function tellWhy(story: Story): Chapters {
  const [own] = story.causes
  return {
    happened: [
      ...story.causes.toReversed().flatMap((cause) => causeTold(cause, story.byHand.get(cause.object.uid))),
      ...(own?.job === undefined ? [] : jobTold(own.job, story)),
      ...(story.newest === undefined || own === undefined ? [] : [newestTold(story.newest, own.object)]),
    ].map((sentence) => shown(sentence, 2000)),
    now: nowTold(story).map((sentence) => shown(sentence, 2000)),
  }
}

function causeTold(cause: Cause, byHand: HandWrite | undefined): readonly string[] {
  const { object, job, trigger } = cause
  return [
    trigger === undefined
      ? `The journal does not have the event that began ${job === undefined ? 'anything' : `job ${idOf(job)}`} of ${nameOf(object)} any more.`
      : `${trigger.at.toISOString()} ${writerOf(cause, byHand)} ${verbOf(trigger)} ${nameOf(object)} (version ${trigger.version})${changed(cause)}.${heldBy(byHand)}`,
    ...(job === undefined ? [] : [beganTold(job, object)]),
  ]
}

function beganTold(job: JobRecord, object: ObjectRecord): string {
  const run = job.cause === 'hosted' ? `hosted by run ${job.workflowID}` : `${job.cause}; run ${job.workflowID}`
  return `${job.startedAt.toISOString()} job ${idOf(job)} of ${nameOf(object)} began (${run}).`
}

function idOf({ jobID }: JobRecord): string {
  return jobID === '' ? '(level mode)' : jobID
}

function heldBy(byHand: HandWrite | undefined): string {
  return byHand === undefined || byHand.fields.length === 0
    ? ''
    : ` ${byHand.manager} holds ${byHand.fields.join(', ')}.`
}

function writerOf({ trigger, run, write }: Cause, byHand: HandWrite | undefined): string {
  if (byHand !== undefined) return `${byHand.manager} (as it calls itself)`
  if (trigger?.writer === null || trigger === undefined)
    return trigger?.source === 'relist' ? 'somebody, seen with a list later,' : "somebody beside Pawl's runs"
  const who = run === undefined ? `run ${trigger.writer}` : `the run of ${run.controller} ${run.namespace}/${run.name}`
  return write === undefined ? who : `${who}, in pass ${write.pass}, step ${write.step},`
}

function verbOf({ type }: EventRecord): string {
  return { ADDED: 'created', MODIFIED: 'changed', DELETED: 'removed' }[type]
}

const MOST_CHANGES = 8

function changed({ trigger, before }: Cause): string {
  if (trigger === undefined || trigger.type === 'DELETED') return ''
  const changes = changesBetween(before?.projection, trigger.projection)
  const rest = changes.length - MOST_CHANGES
  if (changes.length === 0) return ''
  return `: ${changes.slice(0, MOST_CHANGES).join('; ')}${rest > 0 ? `; and ${rest} fields more` : ''}`
}

function jobTold(job: JobRecord, { writes, passes, page, now }: Story): readonly string[] {
  const phases = phasesText(job, now)
  const refused = writes.filter(({ error }) => error !== null)
  const last = writes.at(-1)
  const error = errorText(job.lastError)
  return [
    ...(page === undefined ? [] : [`Its run in Temporal's UI: ${page}`]),
    ...(last === undefined
      ? []
      : [
          `Its run made ${writesText(writes.length)}${passes === undefined ? '' : ` in ${passes} ${passes === 1 ? 'pass' : 'passes'}`}, ${refused.length} of which were refused; the last: ${writeTold(last)}.`,
        ]),
    ...refused.slice(-3).map((write) => `Refused: ${writeTold(write)}: ${errorText(write.error) ?? 'no message'}.`),
    ...(phases === '' ? [] : [`Phases: ${phases}.`]),
    job.outcome === null || job.finishedAt === null
      ? `It goes on since ${between(job.startedAt, now)}, in phase ${job.phase ?? '-'}.`
      : `${job.finishedAt.toISOString()} it ended ${job.outcome} after ${between(job.startedAt, job.finishedAt)}${error === undefined ? '' : `: ${error}`}.`,
  ]
}

function writesText(count: number): string {
  return count === 1 ? '1 write' : `${count < MOST_WRITES ? count : `at least ${count}`} writes`
}

function writeTold({ pass, step, verb, object, version, at }: WriteRecord): string {
  return `${at.toISOString()} pass ${pass}, step ${step}, ${verb} ${object}${version === null ? '' : ` (version ${version})`}`
}

function newestTold(event: EventRecord, object: ObjectRecord): string {
  const what =
    event.outcome === 'wake' ? 'woke a run' : `${event.outcome}${event.reason === null ? '' : `: ${event.reason}`}`
  const who = event.writer === null ? "somebody beside Pawl's runs" : `run ${event.writer}`
  return `The newest event of ${nameOf(object)}: ${event.at.toISOString()} ${event.type} version ${event.version} by ${who}; ${what}.`
}

function nowTold({ path, reasons, turns }: Story): readonly string[] {
  const [root] = path
  if (root === undefined) return []
  const isDone = !isOpen(root) && !hasFailed(root)
  const chain = path.slice(1).map((node, index) => {
    const above = path[index] ?? root
    const verb = hasFailed(node) ? 'failed with' : 'waits for'
    return `${nameOf(above.object)} (${phaseOf(above)}) ${verb} ${nameOf(node.object)} (${phaseOf(node)}).`
  })
  const told = [...turns, ...chain, ...reasons]
  if (told.length > 0) return told
  return [
    isDone
      ? `${nameOf(root.object)} is ${phaseOf(root)} and waits for nothing.`
      : `${nameOf(root.object)} is ${phaseOf(root)}; the journal has nothing that it waits for.`,
  ]
}

export function storyText({ happened, now }: Chapters): string {
  return [...happened, '', 'Now:', ...now.map((sentence) => `  ${sentence}`)].map((line) => `${line}\n`).join('')
}
