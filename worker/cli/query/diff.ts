// The command `pawl diff`: compares two jobs of an object.

import type { Command } from 'commander'

import { writeJson } from '../../../workflows/kit/index.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { UsageError } from '../../server/usage-error.ts'
import { actionName, versionsIn } from './causes.ts'
import { nodesOf } from './draw-job-tree.ts'
import { findJob, type FoundJob } from './find-object.ts'
import { versionChanges } from './versions.ts'
import { diffData, diffOf, type JobSide, diffText } from './job-diff.ts'
import { readJobTree } from './job-tree.ts'
import { objectCommand } from './object-command.ts'
import type { JournalSession } from './open-journal.ts'
import { nameOf } from './format.ts'

export function diffCommand(): Command {
  return objectCommand<object, 'text' | 'json'>({
    name: 'diff',
    description: 'compare two jobs of an object: edits, parts, phases, durations, writes',
    argument: ['<object and jobs...>', 'the object, and two jobs, or one and the newest; without: the two newest'],
    formats: ['text', 'json'],
    examples: ['pawl diff inst/shop', 'pawl diff inst/shop 0c5b2a', 'pawl diff inst/shop 0c5b2a 77ab01'],
    answer: diff,
  })
}

async function diff(
  journal: JournalSession,
  words: readonly string[],
  { output }: { readonly output: string },
): Promise<string> {
  const [object, jobs] = objectAndJobs(words)
  const [before, after] = await pairOf(journal, object, jobs)
  const [left, right] = [await sideOf(journal, before), await sideOf(journal, after)]
  const events = await journal.eventsOf(after.object.uid)
  const between = versionChanges(versionsIn(events)).filter(
    ({ event }) => event.writer === null && event.at > before.job.startedAt && event.at <= after.job.startedAt,
  )
  const found = diffOf(left, right, between)
  return output === 'json' ? `${writeJson(diffData(found), 2)}\n` : diffText(found, journal.paint)
}

/** @throws UsageError for more than two jobs. */
export function objectAndJobs(words: readonly string[]): readonly [readonly string[], readonly string[]] {
  const length = words[0]?.includes('/') === true ? 1 : 2
  const jobs = words.slice(length)
  if (jobs.length > 2)
    throw new UsageError(`found ${jobs.length} jobs (${jobs.join(', ')}), expected an object and at most two jobs`)
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
  const second = one === undefined ? await beforeOf(journal, first) : withJob(await findJob(journal, words, other))
  if (first.job.workflowID === second.job.workflowID)
    throw new UsageError(`found the job ${first.job.jobID} twice, expected two jobs`)
  return first.job.startedAt <= second.job.startedAt ? [first, second] : [second, first]
}

function withJob({ object, job }: FoundJob): ObjectWithJob {
  if (job === undefined) throw new Error(`the journal has no job of ${nameOf(object)}, expected two`)
  return { object, job }
}

async function beforeOf(journal: JournalSession, { object, job }: ObjectWithJob): Promise<ObjectWithJob> {
  const before = (await journal.jobsOf(object.uid)).find(({ workflowID }) => workflowID !== job.workflowID)
  if (before === undefined) throw new Error(`the journal has one job of ${nameOf(object)}, ${job.jobID}, expected two`)
  return { object, job: before }
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
