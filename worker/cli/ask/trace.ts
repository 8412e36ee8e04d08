// The command `pawl trace`: the tree of a job, once or as it goes.

import { Command } from 'commander'
import { setTimeout } from 'node:timers/promises'

import { drawJobTree, changedLines } from './draw-job-tree.ts'
import { findJob, findObjects } from './find-object.ts'
import { endedWell, type JobNode, readJobTree } from './job-tree.ts'
import { type Asked, asking, type AskFlags, withAskFlags } from './open-journal.ts'

/** How often the journal is asked while a job is followed. */
const POLL_MS = 200
/** The exit code when the job that was followed did not end well. */
export const ENDED_BADLY = 3

interface TraceFlags extends AskFlags {
  readonly job?: string
  readonly watch?: boolean
}

export function traceCommand(): Command {
  return withAskFlags(
    new Command('trace')
      .description('draw the tree of a job: phases, durations, what failed and what is waited for')
      .argument('<object...>', 'the object, such as inst/shop')
      .option('--job <id>', 'this job of it (default: the newest)')
      .option('-w, --watch', 'follow the job until it ends; exit code 3 when it did not end well'),
  )
    .addHelpText('after', '\nExamples:\n  pawl trace inst/shop\n  pawl trace inst/shop -w -n team-a')
    .action(async (words: readonly string[], flags: TraceFlags) => {
      process.exitCode = await asking(flags, async (asked) => await trace(asked, words, flags))
    })
}

async function trace(asked: Asked, words: readonly string[], { job, watch = false }: TraceFlags): Promise<number> {
  if (!watch) {
    const { tree } = await look(asked, words, job)
    process.stdout.write(drawJobTree(tree, new Date(), asked.paint))
    return 0
  }
  const show = process.stdout.isTTY ? liveTree(asked) : plainLines()
  let jobID = job
  for (;;) {
    const { tree, found } = await look(asked, words, jobID)
    show(tree, new Date())
    if (found !== undefined && found.outcome !== null) return endedWell(found) ? 0 : ENDED_BADLY
    // The next job is another question.
    if (found !== undefined && found.jobID !== '') jobID = found.jobID
    await setTimeout(POLL_MS)
  }
}

async function look(asked: Asked, words: readonly string[], jobID: string | undefined) {
  const [object] = await findObjects(asked, words)
  const found = await findJob(asked, object, jobID)
  return { found, tree: await readJobTree(asked, object, found) }
}

type Show = (tree: JobNode, now: Date) => void

/** Draws each time in the place of the time before. */
function liveTree({ paint }: Asked): Show {
  let height = 0
  return (tree, now) => {
    const text = drawJobTree(tree, now, paint)
    process.stdout.write(`${height > 0 ? `\x1b[${height}A\x1b[J` : ''}${text}`)
    height = linesOnScreen(text)
  }
}

function plainLines(): Show {
  let before: JobNode | undefined
  return (tree, now) => {
    for (const line of changedLines(before, tree, now)) process.stdout.write(`${line}\n`)
    before = tree
  }
}

/** A line that is longer than the terminal takes several. */
function linesOnScreen(text: string): number {
  const columns = Math.max(1, process.stdout.columns)
  // Colours take no room.
  const widths = text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/\u001b\[\d+m/g, '').length)
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
}
