// The command `pawl diff`: compares two jobs of an object.

import type { Command } from 'commander'

import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { groupKindOf, isSameGroupKind, writeJson } from '../../../workflows/kit/index.ts'
import { readConfig } from '../../server/config.ts'
import { builtInRegistry } from '../../server/registry.ts'
import { type ForeignWrite, foreignWriteAt, readLive, writeOfEvent } from '../live-objects.ts'
import type { UserFlags } from '../user.ts'
import { UsageError } from '../../server/usage-error.ts'
import { actionName, versionsIn } from './causes.ts'
import { nodesOf } from './draw-job-tree.ts'
import { isInLevelMode } from './explain-status.ts'
import { findJob, findObjects, type FoundJob } from './find-object.ts'
import { readForeignWrites } from './foreign-writes.ts'
import { findChangedInputs, type FoundInput, withValues } from './job-inputs.ts'
import { type VersionChange, versionChanges } from './versions.ts'
import { DELETED, diffData, diffOf, type JobSide, diffText } from './job-diff.ts'
import { readJobTree } from './job-tree.ts'
import { lastEdit, levelDiffData, levelDiffText } from './level-diff.ts'
import { nextQuery, nextReplay } from './next-step.ts'
import { objectCommand } from './object-command.ts'
import type { JournalFlags, JournalSession } from './open-journal.ts'
import { formatTime, nameOf } from './format.ts'

export function diffCommand(): Command {
  return objectCommand<UserFlags, DiffFormat>({
    name: 'diff',
    description: 'compare two jobs of an object: changed inputs, edits, phases, durations',
    argument: [
      '<object and jobs...>',
      'the object, and the IDs of two jobs; one ID: this job and the newest; none: the two newest',
    ],
    formats: ['text', 'wide', 'json'],
    examples: ['pawl diff inst/shop', 'pawl diff inst/shop 0c5b2a', 'pawl diff inst/shop 0c5b2a 77ab01'],
    answer: diff,
  })
}

/** Undefined for an object in job mode. @throws UsageError if jobs are given for an object in level mode. */
async function diffOfLevel(
  journal: JournalSession,
  { words, jobs }: { readonly words: readonly string[]; readonly jobs: readonly string[] },
  flags: JournalFlags & UserFlags & { readonly output: DiffFormat },
): Promise<string | undefined> {
  const [object] = await findObjects(journal, words)
  const [job] = await journal.jobsOf(object.uid)
  if (!isInLevelMode({ object, job })) return undefined
  if (jobs.length > 0)
    throw new UsageError(`${nameOf(object)}: level mode has no jobs to compare; leave out the job "${jobs[0] ?? ''}"`)
  const edit = lastEdit(versionChanges(versionsIn(await journal.eventsOf(object.uid))))
  const clients = await readForeignWrites(edit === undefined ? [] : [{ object, event: edit.event }], flags)
  const all = job === undefined ? [] : await journal.writesOf(job.workflowID)
  const found = {
    edit,
    by: edit && clients.get(edit.event.seq),
    writes: edit === undefined ? all : all.filter(({ at }) => at >= edit.event.at),
  }
  if (flags.output === 'json') return `${writeJson(levelDiffData(found), 2)}\n`
  return levelDiffText(found, {
    paint: journal.paint,
    isWide: flags.output === 'wide',
    now: new Date(),
    name: nameOf(object),
    replay: nextReplay(object, words, flags),
    next: nextQuery('history', words, flags),
  })
}

type DiffFormat = 'text' | 'wide' | 'json'

async function diff(
  journal: JournalSession,
  words: readonly string[],
  flags: JournalFlags & UserFlags & { readonly output: DiffFormat },
): Promise<string> {
  const [object, jobs] = objectAndJobs(words)
  const level = await diffOfLevel(journal, { words: object, jobs }, flags)
  if (level !== undefined) return level
  const [before, after] = await pairOf(journal, object, jobs)
  const [left, right] = [await sideOf(journal, before), await sideOf(journal, after)]
  const isSame = before.object.uid === after.object.uid
  const inputs = isSame
    ? await findChangedInputs(journal, { before: left.job, after: right.job, tree: right.tree })
    : undefined
  const events = await journal.eventsOf(after.object.uid)
  const edits = versionChanges(versionsIn(events)).filter(
    ({ event }) => event.writer === null && event.at > before.job.startedAt && event.at <= after.job.startedAt,
  )
  const live = await readLiveObjects(after.object, { edits, inputs: inputs ?? [] }, flags)
  const found = diffOf(left, right, {
    edits: edits.map((edit) => ({ ...edit, by: foreignWriteIn(live.get(after.object.uid), edit) })),
    inputs: inputs && withValues(inputs, live),
  })
  const { output } = flags
  if (output === 'json') return `${writeJson(diffData(found), 2)}\n`
  const next = await nextDiff(journal, { object, before, after }, flags)
  return diffText(found, { paint: journal.paint, isWide: output === 'wide', now: new Date(), next })
}

/** After the diff with the job that deleted the object: the diff of the two jobs before the deletion, if there are two. */
async function nextDiff(
  journal: JournalSession,
  {
    object: words,
    before,
    after,
  }: Readonly<Record<'before' | 'after', ObjectWithJob>> & { readonly object: readonly string[] },
  flags: JournalFlags,
): Promise<string> {
  const replay = nextReplay(after.object, [...words, after.job.jobID], flags)
  if (after.job.outcome !== DELETED) return replay
  const earlier = (await journal.jobsOf(before.object.uid)).find(({ startedAt }) => startedAt < before.job.startedAt)
  return earlier === undefined ? replay : nextQuery('diff', [...words, earlier.jobID, before.job.jobID], flags)
}

/** The changed inputs, and the object if other clients edited it, by uid. Read with the user's permissions. */
async function readLiveObjects(
  object: ObjectRecord,
  { edits, inputs }: { readonly edits: readonly VersionChange[]; readonly inputs: readonly FoundInput[] },
  flags: UserFlags,
): Promise<LiveObjects> {
  const target = targetOf(object)
  const own = edits.length === 0 || target === undefined ? [] : [{ ...target, ...object }]
  const live = await readLive([...own, ...inputs.map(({ read }) => read)], flags, readConfig())
  for (const problem of live.problems)
    process.stderr.write(`pawl: API server: ${problem}; values and editors are not shown\n`)
  return live.objects
}

function targetOf(object: ObjectRecord) {
  return [...builtInRegistry.controllers.values()]
    .map(({ target }) => target)
    .find((target) => isSameGroupKind(groupKindOf(target), object))
}

type LiveObjects = Awaited<ReturnType<typeof readLive>>['objects']

function foreignWriteIn(live: ReturnType<LiveObjects['get']>, { event }: VersionChange): ForeignWrite | undefined {
  const isTimed = live !== undefined && event.source === 'watch'
  return writeOfEvent(event, isTimed ? foreignWriteAt(live.metadata, event.at) : undefined)
}

/** @throws UsageError for more than two jobs. */
export function objectAndJobs(words: readonly string[]): readonly [readonly string[], readonly string[]] {
  const length = words[0]?.includes('/') === true ? 1 : 2
  const jobs = words.slice(length)
  if (jobs.length > 2)
    throw new UsageError(`found ${jobs.length} jobs (${jobs.join(', ')}); give an object and at most two jobs`)
  return [words.slice(0, length), jobs]
}

type ObjectWithJob = FoundJob & { readonly job: JobRecord }

/** The two jobs, the earlier one first. */
async function pairOf(
  journal: JournalSession,
  words: readonly string[],
  [one, other]: readonly string[],
): Promise<readonly [ObjectWithJob, ObjectWithJob]> {
  const first = withJob(await findJob(journal, words, one))
  const second =
    one === undefined ? await beforeOf(journal, words, first) : withJob(await findJob(journal, words, other))
  if (first.job.workflowID === second.job.workflowID)
    throw new UsageError(`${nameOf(first.object)}: job "${first.job.jobID}" is given twice; give two different jobs`)
  return first.job.startedAt <= second.job.startedAt ? [first, second] : [second, first]
}

function withJob({ object, job }: FoundJob): ObjectWithJob {
  if (job === undefined)
    throw new Error(`${nameOf(object)}: ${deletionText(object)}the journal has no job of it; diff compares two jobs`)
  return { object, job }
}

/** The job before this one: of the same object, else of a deleted object with the same name. */
async function beforeOf(
  journal: JournalSession,
  words: readonly string[],
  { object, job }: ObjectWithJob,
): Promise<ObjectWithJob> {
  for (const one of await findObjects(journal, words)) {
    const isSame = one.uid === object.uid
    const before = (await journal.jobsOf(one.uid)).find(({ workflowID, startedAt, outcome }) =>
      isSame ? workflowID !== job.workflowID : startedAt < job.startedAt && outcome !== DELETED,
    )
    if (before !== undefined) return { object: one, job: before }
  }
  throw new Error(
    `${nameOf(object)}: ${deletionText(object)}the journal has only job "${job.jobID}"; diff compares two jobs`,
  )
}

function deletionText({ deleted, updatedAt }: ObjectRecord): string {
  return deleted ? `was deleted at ${formatTime(updatedAt, new Date())}; ` : ''
}

async function sideOf(journal: JournalSession, { object, job }: ObjectWithJob): Promise<JobSide> {
  const tree = await readJobTree(journal, object, job)
  const isHosted = job.cause === 'hosted'
  const uids = nodesOf(tree).map((node) => node.object.uid)
  const events = await journal.lastEventsIn(uids, { jobID: job.jobID, since: job.startedAt })
  return {
    tree,
    job,
    projections: new Map([...events].map(([uid, { projection }]) => [uid, projection])),
    writes: await journal.writesOf(job.workflowID, isHosted ? actionName(object) : undefined),
    passes: isHosted ? undefined : (await journal.runOf(job.workflowID))?.passes,
  }
}
