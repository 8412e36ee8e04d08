// The command `pawl diff`: what is different between two jobs of an object.

import type { Command } from 'commander'

import { writeJson } from '../../../workflows/kit/index.ts'
import type { JobRecord } from '../../../activities/journal/read/object-queries.ts'
import { UsageError } from '../../server/usage-error.ts'
import { actionName, versionsIn } from './causes.ts'
import { nodesOf } from './draw-job-tree.ts'
import { findJob, type FoundJob } from './find-object.ts'
import { knownIn } from './versions.ts'
import { diffData, diffOf, type JobSide, diffText } from './job-diff.ts'
import { readJobTree } from './job-tree.ts'
import { objectCommand } from './object-command.ts'
import type { Asked } from './open-journal.ts'
import { nameOf } from './format.ts'

export function diffCommand(): Command {
  return objectCommand<object, 'text' | 'json'>({
    name: 'diff',
    description: 'tell what is different between two jobs of an object: edits, parts, phases, durations, writes',
    argument: ['<object and jobs...>', 'the object, and two jobs, or one and the newest; without: the two newest'],
    formats: ['text', 'json'],
    examples: ['pawl diff inst/shop', 'pawl diff inst/shop 0c5b2a', 'pawl diff inst/shop 0c5b2a 77ab01'],
    answer: diff,
  })
}

async function diff(asked: Asked, words: readonly string[], { output }: { readonly output: string }): Promise<string> {
  const [object, jobs] = objectAndJobs(words)
  const [before, after] = await pairOf(asked, object, jobs)
  const [left, right] = [await sideOf(asked, before), await sideOf(asked, after)]
  const events = await asked.eventsOf(after.object.uid)
  const between = knownIn(versionsIn(events)).filter(
    ({ event }) => event.writer === null && event.at > before.job.startedAt && event.at <= after.job.startedAt,
  )
  const found = diffOf(left, right, between)
  return output === 'json' ? `${writeJson(diffData(found), 2)}\n` : diffText(found, asked.paint)
}

/** @throws UsageError for more than an object and two jobs. */
export function objectAndJobs(words: readonly string[]): readonly [readonly string[], readonly string[]] {
  const length = words[0]?.includes('/') === true ? 1 : 2
  const jobs = words.slice(length)
  if (jobs.length > 2)
    throw new UsageError(`found ${jobs.length} jobs (${jobs.join(', ')}), expected an object and at most two jobs`)
  return [words.slice(0, length), jobs]
}

type Found = FoundJob & { readonly job: JobRecord }

/** The two jobs, the earlier first. */
async function pairOf(
  asked: Asked,
  words: readonly string[],
  [one, other]: readonly string[],
): Promise<readonly [Found, Found]> {
  const first = withJob(await findJob(asked, words, one))
  const second = one === undefined ? await beforeOf(asked, first) : withJob(await findJob(asked, words, other))
  if (first.job.workflowID === second.job.workflowID)
    throw new UsageError(`found the job ${first.job.jobID} twice, expected two jobs`)
  return first.job.startedAt <= second.job.startedAt ? [first, second] : [second, first]
}

function withJob({ object, job }: FoundJob): Found {
  if (job === undefined) throw new Error(`the journal has no job of ${nameOf(object)}, expected two`)
  return { object, job }
}

async function beforeOf(asked: Asked, { object, job }: Found): Promise<Found> {
  const before = (await asked.jobsOf(object.uid)).find(({ workflowID }) => workflowID !== job.workflowID)
  if (before === undefined) throw new Error(`the journal has one job of ${nameOf(object)}, ${job.jobID}, expected two`)
  return { object, job: before }
}

async function sideOf(asked: Asked, { object, job }: Found): Promise<JobSide> {
  const tree = await readJobTree(asked, object, job)
  const isHosted = job.cause === 'hosted'
  const uids = nodesOf(tree).map((node) => node.object.uid)
  const events = await asked.lastEventsIn(uids, { jobID: job.jobID, since: job.startedAt })
  return {
    tree,
    job,
    kept: new Map([...events].map(([uid, { projection }]) => [uid, projection])),
    writes: await asked.writesOf(job.workflowID, isHosted ? actionName(object) : undefined),
    passes: isHosted ? undefined : (await asked.runOf(job.workflowID))?.passes,
  }
}
