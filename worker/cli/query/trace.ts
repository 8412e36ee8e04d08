// The command `pawl trace`: draws the tree of a job, once or until the job ends.

import { Command } from 'commander'
import { setTimeout } from 'node:timers/promises'

import type { JobRecord, ObjectRecord } from '../../../activities/journal/read/object-queries.ts'
import { drawJobTree, changedLines, nodesOf } from './draw-job-tree.ts'
import { findJob } from './find-object.ts'
import { follow } from './follow.ts'
import { endedWell, hasFailed, isOpen, type JobNode, readJobTree } from './job-tree.ts'
import { isInLevelMode } from './explain-status.ts'
import { readLiveStatuses } from '../live-status.ts'
import { levelRunText, writesOfRun } from './level-run.ts'
import { nextAfterTrace, nextReplay } from './next-step.ts'
import { parseOneOf } from '../usage.ts'
import { JOB_OPTION, OBJECT_ARGUMENT } from './object-command.ts'
import { type JournalSession, withJournal, type JournalFlags, addJournalFlags } from './open-journal.ts'
import { type PageFlags, runPage, UI_OPTION } from '../temporal-address.ts'
import { isJobRequested } from './edits-during-job.ts'
import { isBusy, jobIDIn, quotedName } from './format.ts'

/** Exit code when the followed job did not succeed. */
const ENDED_BADLY = 3

interface TraceFlags extends JournalFlags, PageFlags {
  readonly job?: string
  readonly watch?: boolean
  readonly output: (typeof FORMATS)[number]
}

const FORMATS = ['text', 'wide'] as const

export function traceCommand(): Command {
  return addJournalFlags(
    new Command('trace')
      .description('draw the tree of a job: phases, durations, failures and reasons for waiting')
      .argument(...OBJECT_ARGUMENT)
      .option(...JOB_OPTION)
      .option(...UI_OPTION)
      .option(
        '-o, --output <format>',
        `${FORMATS.join(', ')} (adds IDs, exact times and addresses)`,
        parseOneOf(FORMATS),
        'text',
      )
      .option('-w, --watch', 'follow the job until it ends; exit code 3 when it did not end well'),
  )
    .addHelpText('after', '\nExamples:\n  pawl trace inst/shop\n  pawl trace inst/shop -w -n team-a')
    .action(async (words: readonly string[], flags: TraceFlags) => {
      process.exitCode = await withJournal(flags, async (journal) => await trace(journal, words, flags))
    })
}

async function trace(journal: JournalSession, words: readonly string[], flags: TraceFlags): Promise<number> {
  const { job, watch = false, output } = flags
  const wide = output === 'wide'
  if (!watch) {
    const { tree, found } = await look(journal, words, job)
    const { statuses, problems } = await readLiveStatuses(unreadyObjects(tree), flags)
    for (const problem of problems) process.stderr.write(`pawl: ${problem}\n`)
    const page = found === undefined || !wide ? undefined : await runPage(flags, await journal.runOf(found.workflowID))
    const where = page === undefined ? '' : `run: ${page}\n`
    const text = drawJobTree(tree, { now: new Date(), paint: journal.paint, wide, statuses })
    const replay = nextReplay(tree.object, words, flags)
    const level = found !== undefined && isInLevelMode(tree) ? await levelRun(journal, found, replay) : ''
    process.stdout.write(`${text}${where}${level}\n${nextAfterTrace(tree, words, flags)}\n`)
    return 0
  }
  const screen = process.stdout.isTTY ? redrawnTree(journal, wide) : changedLinesOutput()
  let jobID = job
  let isReported = false
  // The changes of a job that has ended before are no news: its tree has their times.
  let isFirst = true
  const reportPending = (object: ObjectRecord) => {
    if (!isReported) process.stderr.write(`pawl: ${quotedName(object)}: the requested job has not started yet\n`)
    isReported = true
  }
  return await follow({
    readTree: async () => await look(journal, words, jobID),
    show: ({ tree, found }) => {
      if (isNextJobPending(tree, found, jobID)) {
        reportPending(tree.object)
        return undefined
      }
      const ended = endOf(tree, found, jobID)
      if (isFirst && ended !== undefined) {
        const text = drawJobTree(tree, { now: new Date(), paint: journal.paint, wide })
        process.stdout.write(`${text}\n${nextAfterTrace(tree, words, flags)}\n`)
      } else screen.show(tree, new Date())
      isFirst = false
      if (ended !== undefined) return ended === 'well' ? 0 : ENDED_BADLY
      // From now on only this job is followed, not the next one.
      if (found !== undefined && found.jobID !== '') jobID = found.jobID
      return undefined
    },
    report: (line) => {
      screen.leave()
      process.stderr.write(`pawl: ${line}\n`)
    },
    pause: async (ms) => await setTimeout(ms),
    clockMs: () => performance.now(),
  })
}

/** True if `found` is the previous job: the next one is requested, or the journal does not have its row yet. */
export function isNextJobPending(
  { object }: Pick<JobNode, 'object'>,
  found: JobRecord | undefined,
  followedJobID: string | undefined,
): boolean {
  if (found === undefined || found.outcome === null || followedJobID !== undefined || object.deleted) return false
  const isAhead = isBusy(object.projection) && jobIDIn(object.projection) !== found.jobID
  return isAhead || isJobRequested({ object })
}

/**
 * The result of the followed job; undefined while it has not ended or not started.
 *
 * @param followedJobID undefined if the user named no job and none was open yet.
 */
export function endOf(
  tree: Pick<JobNode, 'object' | 'job'>,
  found: JobRecord | undefined,
  followedJobID: string | undefined,
): 'well' | 'badly' | undefined {
  const { deleted, projection } = tree.object
  const currentJobID = jobIDIn(projection)
  if (found === undefined) {
    // The journal has no job for items that the run of their owner handles, nor for pruned jobs.
    const isOver = deleted || (currentJobID !== undefined && !isBusy(projection))
    if (!isOver) return undefined
    return hasFailed(tree) ? 'badly' : 'well'
  }
  if (found.outcome === null || isNextJobPending(tree, found, followedJobID)) return undefined
  return endedWell(found) ? 'well' : 'badly'
}

/** @param replay the command that replays the run. */
async function levelRun(journal: JournalSession, run: JobRecord, replay: string): Promise<string> {
  const options = { now: new Date(), paint: journal.paint, replay }
  return levelRunText(writesOfRun(await journal.writesOf(run.workflowID), run), options)
}

/** The objects without children that wait or have failed: their live status may have the reason. */
function unreadyObjects(tree: JobNode): readonly ObjectRecord[] {
  return nodesOf(tree)
    .filter((node) => (isOpen(node) || hasFailed(node)) && node.job?.lastError == null)
    .map(({ object }) => object)
}

async function look(journal: JournalSession, words: readonly string[], jobID: string | undefined) {
  const { object, job } = await findJob(journal, words, jobID)
  return { found: job, tree: await readJobTree(journal, object, job) }
}

interface TreeOutput {
  readonly show: (tree: JobNode, now: Date) => void
  /** Called before other output is printed below the tree. */
  readonly leave: () => void
}

/** Overwrites the previously drawn tree. */
function redrawnTree({ paint }: JournalSession, wide: boolean): TreeOutput {
  let height = 0
  return {
    show: (tree, now) => {
      const text = drawJobTree(tree, { now, paint, wide })
      process.stdout.write(`${height > 0 ? `\x1b[${height}A\x1b[J` : ''}${text}`)
      height = linesOnScreen(text)
    },
    leave: () => void (height = 0),
  }
}

function changedLinesOutput(): TreeOutput {
  let before: JobNode | undefined
  return {
    show: (tree, now) => {
      for (const line of changedLines(before, tree, now)) process.stdout.write(`${line}\n`)
      before = tree
    },
    leave: () => undefined,
  }
}

/** A line longer than the terminal takes several screen lines. */
function linesOnScreen(text: string): number {
  const columns = Math.max(1, process.stdout.columns)
  // Colour codes have no width.
  const widths = text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\u001b\[\d+m/g, '').length)
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
}
