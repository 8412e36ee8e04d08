// The command `pawl why`: explains what triggered the job of an object, what the job did, and what it waits for.

import type { Command } from 'commander'

import type { RunRecord } from '../../../activities/journal/read/event-queries.ts'
import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { writeJson } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { readLive, type ForeignWrite } from '../live-objects.ts'
import { withUserClient, type UserFlags } from '../user.ts'
import { type PageFlags, runPage, UI_OPTION } from '../temporal-address.ts'
import {
  editSentences,
  type Interrupt,
  interruptAnswer,
  interruptEventOf,
  interruptOf,
  isDeletionWaiting,
} from './edits-during-job.ts'
import { isInLevelMode, resourceOfKind, steeringOf } from './explain-status.ts'
import {
  awaitedSiblings,
  keyOf,
  notRequestedSentences,
  parentErrorIn,
  pathToRootCause,
  reasonsOf,
  type RootCauseContext,
  summaryText,
} from './root-cause.ts'
import { pauseSentences, readQueuePositions, queueSentence, notStartedSentences } from './waiting.ts'
import { actionName, type Cause, readCauses } from './causes.ts'
import { readChangesSinceJob } from '../changed-sources.ts'
import { findJob } from './find-object.ts'
import { readForeignWrites } from './foreign-writes.ts'
import { hasFailed, isOpen, isOver, type JobNode, phaseOf, readJobTree } from './job-tree.ts'
import { JOB_OPTION, objectCommand } from './object-command.ts'
import { writesOfRun } from './level-run.ts'
import type { JournalFlags, JournalSession } from './open-journal.ts'
import { readLiveStatuses } from '../live-status.ts'
import { nextStep } from './next-step.ts'
import { explanationText, explainJob } from './why-text.ts'
import { deletionIn, formatTime, nameOf } from './format.ts'

interface WhyFlags extends JournalFlags, PageFlags {
  readonly job?: string
  readonly output: 'text' | 'wide' | 'json'
}

export function whyCommand(): Command {
  return objectCommand({
    name: 'why',
    description: 'explain the state of an object: what it waits for or why it failed, and what led to its job',
    options: (command) => command.option(...JOB_OPTION).option(...UI_OPTION),
    formats: ['text', 'wide', 'json'],
    examples: ['pawl why inst/shop', 'pawl why di shop-db-e95b8 -n team-a'],
    answer: why,
  })
}

async function why(journal: JournalSession, words: readonly string[], flags: WhyFlags): Promise<string> {
  const { job: jobID, output } = flags
  const { object, job } = await findJob(journal, words, jobID)
  const path = pathToRootCause(await readJobTree(journal, object, job))
  const events = await journal.eventsOf(object.uid, 1)
  const run = job === undefined || job.cause === 'hosted' ? undefined : await journal.runOf(job.workflowID)
  const causes = await readCauses(journal, object, job)
  const now = new Date()
  const wide = output !== 'text'
  const requests = requestSentences(path, { now, isOldJob: jobID !== undefined })
  const interrupt = await readInterrupt(journal, { object, job }, flags)
  const interrupted = interruptSentences(path, interrupt, (at) => (wide ? at.toISOString() : formatTime(at, now)))
  const queue = [...interrupted, ...requests.first, ...(await waitingSentences(journal, path, { job, run, now }))]
  const { reasons, status, command, subjectSummary } = await readReasons(journal, path, { flags, now, wide })
  const sibling = await readSibling(journal, path, { flags, now, wide })
  const changes = await readChangesSinceJob(journal, path[0], { flags, now, wide, isOldJob: jobID !== undefined })
  const notRequested = path.length === 1 && queue.length === 0 ? notRequestedSentences(object, job) : []
  const explanation = explainJob({
    causes,
    foreignWrites: await readClients(causes, flags),
    writes: await readWrites(journal, object, job),
    passes: run?.passes,
    page: await runPage(flags, run),
    newest: events.at(-1),
    path,
    now,
    wide,
    queueSentences: queue,
    subjectSummary,
    interrupt,
    next: nextStep({
      path,
      status,
      command,
      words,
      flags,
      isInterrupted: interrupt !== undefined,
      hasEarlierJob: jobID === undefined && job !== undefined && (await journal.jobsOf(object.uid)).length > 1,
      isOutdated: changes.length > 0,
      awaitedSibling: sibling?.object,
    }),
    reasons: [...notRequested, ...reasons, ...(sibling?.reasons ?? []), ...changes, ...requests.last],
  })
  if (output === 'json') return `${writeJson(explanation, 2)}\n`
  return explanationText(explanation, journal.paint, new Set(path.map(phaseOf)))
}

/** A run writes for all objects that it hosts; for a hosted object only the writes to this object count. */
async function readWrites(journal: JournalSession, object: ObjectRecord, job: JobRecord | undefined) {
  if (job === undefined) return []
  return writesOfRun(
    await journal.writesOf(job.workflowID, job.cause === 'hosted' ? actionName(object) : undefined),
    job,
  )
}

/** Sentences about pauses, queue positions, and a run that no worker has started. */
async function waitingSentences(
  journal: JournalSession,
  path: readonly JobNode[],
  { job, run, now }: { readonly job: JobRecord | undefined; readonly run: RunRecord | undefined; readonly now: Date },
): Promise<readonly string[]> {
  const [subject] = path
  return [
    ...path.flatMap((node) => pauseSentences(node.object)),
    ...(await queueSentences(journal, path, now)),
    ...(job === undefined || subject === undefined ? [] : notStartedSentences(subject.object, job, { run, now })),
  ]
}

/** For a job that a user interrupted: the errors of its items only repeat that. */
function interruptSentences(
  [subject]: readonly JobNode[],
  interrupt: Interrupt | undefined,
  time: (at: Date) => string,
): readonly string[] {
  if (subject === undefined || interrupt === undefined || !hasFailed(subject)) return []
  return [interruptAnswer(subject, interrupt, time)]
}

/** Sentences about requests of users that wait for the running job. A deletion that waits is the answer. */
function requestSentences(
  [subject]: readonly JobNode[],
  { now, isOldJob }: { readonly now: Date; readonly isOldJob: boolean },
): { readonly first: readonly string[]; readonly last: readonly string[] } {
  if (subject === undefined || isOldJob) return { first: [], last: [] }
  const sentences = editSentences(subject, now)
  return isDeletionWaiting(subject) ? { first: sentences, last: [] } : { first: [], last: sentences }
}

/** The reasons of the root cause, from the journal and from the API server. */
async function readReasons(
  journal: JournalSession,
  path: readonly JobNode[],
  { flags, now, wide }: { readonly flags: WhyFlags; readonly now: Date; readonly wide: boolean },
) {
  const [subject] = path
  const cause = path.at(-1)
  if (subject === undefined || cause === undefined)
    return { reasons: [], status: undefined, command: undefined, subjectSummary: undefined }
  // A cron has a next run while its Disruption runs.
  const owner = subject === cause || !isInLevelMode(subject) ? [] : [subject.object]
  const watched = new Map([subject, cause].map(({ object, awaited }) => [object.uid, awaited]))
  const { statuses, problems } = await readLiveStatuses([cause.object, ...owner], flags, watched)
  for (const problem of problems) process.stderr.write(`pawl: ${problem}\n`)
  const status = statuses.get(cause.object.uid)
  const context = { ...(await journalContext(journal, cause)), parentError: parentErrorIn(path), status, now, wide }
  const { summary, command } = statuses.get(subject.object.uid) ?? {}
  const ownSummary = owner.length === 0 ? undefined : summary
  const subjectSummary = ownSummary === undefined ? undefined : summaryText(ownSummary, { now, wide })
  return {
    status,
    command,
    subjectSummary,
    reasons: [...reasonsOf(cause, context), ...(await deletionEvents(cause.object, flags))],
  }
}

/** The first unfinished sibling that the root cause waits for, and why that sibling is unfinished. */
async function readSibling(
  journal: JournalSession,
  path: readonly JobNode[],
  options: { readonly flags: WhyFlags; readonly now: Date; readonly wide: boolean },
) {
  const cause = path.at(-1)
  if (cause === undefined || !isOpen(cause)) return undefined
  for (const awaited of awaitedSiblings(cause).slice(0, MOST_LOOKED_FOR)) {
    const [object] = await journal.objectsNamed(awaited)
    if (object === undefined || object.deleted) continue
    const [newest] = await journal.jobsOf(object.uid)
    const job = newest === undefined || isOver(object, newest) ? undefined : newest
    const siblingPath = pathToRootCause(await readJobTree(journal, object, job))
    const { reasons } = await readReasons(journal, siblingPath, options)
    return { object, reasons }
  }
  return undefined
}

/** The user is read from the API server: the journal does not store the record of requests. */
async function readInterrupt(
  journal: JournalSession,
  { object, job }: { readonly object: ObjectRecord; readonly job: JobRecord | undefined },
  flags: UserFlags,
): Promise<Interrupt | undefined> {
  const event = job === undefined ? undefined : interruptEventOf({ object, job }, await journal.eventsOf(object.uid))
  if (event === undefined) return undefined
  const [api, key] = [resourceOfKind(object), steeringOf(object)?.auditAnnotation]
  if (api === undefined || key === undefined || object.deleted) return interruptOf(event, undefined)
  const live = await readLive([{ ...api, ...object }], flags, readConfig())
  for (const problem of live.problems)
    process.stderr.write(`pawl: the user who interrupted the job is unknown: ${problem}\n`)
  return interruptOf(event, live.objects.get(object.uid)?.metadata.annotations?.[key])
}

/** The clients that triggered the jobs, by the object's uid. */
async function readClients(causes: readonly Cause[], flags: UserFlags): Promise<ReadonlyMap<string, ForeignWrite>> {
  const versions = causes.flatMap(({ object, trigger }) => (trigger === undefined ? [] : [{ object, event: trigger }]))
  const clients = await readForeignWrites(versions, flags)
  return new Map(
    versions.flatMap(({ object, event }) => {
      const client = clients.get(event.seq)
      return client === undefined ? [] : [[object.uid, client]]
    }),
  )
}

const MAX_EVENTS = 2

/** The newest Events of an object that is being deleted; controllers explain there what the deletion waits for. */
async function deletionEvents(object: ObjectRecord, flags: UserFlags): Promise<readonly string[]> {
  const deletion = object.deleted ? undefined : deletionIn(object.projection)
  if (deletion === undefined) return []
  try {
    const { newestEvents } = await import('../live-objects.ts')
    return await withUserClient(flags, async (kube) => {
      const events = await newestEvents(kube, object, MAX_EVENTS, deletion.since)
      return events.map((event) => `Event ${event}`)
    })
  } catch (error) {
    process.stderr.write(`pawl: Events of ${nameOf(object)} cannot be read: ${String(error)}\n`)
    return []
  }
}

async function queueSentences(
  journal: JournalSession,
  path: readonly JobNode[],
  now: Date,
): Promise<readonly string[]> {
  const turns = await readQueuePositions(journal, path)
  return path.flatMap(({ object }) => {
    const turn = turns.get(object.uid)
    return turn === undefined ? [] : [queueSentence(object, turn, now)]
  })
}

const MOST_LOOKED_FOR = 20

async function journalContext(
  journal: JournalSession,
  node: JobNode,
): Promise<Pick<RootCauseContext, 'existing' | 'wake' | 'attempt'>> {
  const { job, awaited, object } = node
  const existing = new Set<string>()
  for (const one of awaited.slice(0, MOST_LOOKED_FOR)) {
    const [first] = await journal.objectsNamed(one)
    if (first !== undefined && !first.deleted) existing.add(keyOf(one))
  }
  if (job === undefined || !isOpen(node)) return { existing, wake: undefined, attempt: 0 }
  const [wake, run] = await Promise.all([journal.wakeOf(job.controller, object.uid), journal.runOf(job.workflowID)])
  return { existing, wake, attempt: run?.attempt ?? 0 }
}
