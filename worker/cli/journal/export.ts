// The command `pawl journal export`: one job with all that is known of it in a file, for whoever looks at it elsewhere or later.

import { Command } from 'commander'
import { writeFile } from 'node:fs/promises'

import { type ExportedRows, exportedRows } from '../../../activities/journal/read/exported-job.ts'
import type { AskedJob } from '../../../activities/journal/read/asked-objects.ts'
import { readConfig } from '../../server/config.ts'
import type { TemporalTarget } from '../../server/temporal.ts'
import { UsageError } from '../../server/usage-error.ts'
import { objectAndJobs } from '../ask/diff.ts'
import { findJob, type FoundJob } from '../ask/find-object.ts'
import { type Asked, asking, type AskFlags, withAskFlags } from '../ask/open-journal.ts'
import { nameOf } from '../ask/texts.ts'
import { temporalPlace, type TemporalPlaceFlags, withTemporalFlags } from '../temporal-place.ts'

interface ExportFlags extends AskFlags, TemporalPlaceFlags {
  readonly out?: string
}

const EXPORT_FORMAT = 'pawl.job/1'

/** A job in a file. */
interface ExportedJob {
  readonly format: typeof EXPORT_FORMAT
  readonly workflowId: string
  readonly runId: string
  readonly jobID: string
  /** As Temporal has it; what was sealed stays sealed. Undefined: it has it no more, or nobody said where it is. */
  readonly history: { readonly events: readonly object[] } | undefined
  /** What the journal has; undefined: nothing. */
  readonly journal: ExportedRows | undefined
}

export function exportCommand(): Command {
  const bare = new Command('export')
    .description("write a job's run and all that the journal has of it as JSON")
    .argument('<object and job...>', 'the object, and a job of it (default: the newest)')
    .option('--out <file>', 'the file to write (default: standard output)')
  const command = withTemporalFlags(withAskFlags(bare))
  return command
    .addHelpText(
      'after',
      '\nExamples:\n  pawl journal export inst/shop --out shop.json\n  pawl journal export inst/shop 0c5b2a',
    )
    .action(async (words: readonly string[], flags: ExportFlags) => {
      const target = await temporalPlace(flags, readConfig(), command)
      const exported = await asking(
        flags,
        async (asked) => await exportedJob(asked, await jobNamed(asked, words), target),
      )
      if (exported.history === undefined)
        process.stderr.write(
          'pawl: the history is not in the file: Temporal has it no more, or nobody said where it is\n',
        )
      if (exported.journal?.cut.length)
        process.stderr.write(`pawl: not all rows are in the file: ${exported.journal.cut.join(', ')} have more\n`)
      const text = `${JSON.stringify(exported)}\n`
      if (flags.out === undefined) process.stdout.write(text)
      else await writeFile(flags.out, text, { mode: 0o600 })
    })
}

type NamedJob = FoundJob & { readonly job: AskedJob }

/** @throws UsageError for several jobs; an Error where the object has none. */
async function jobNamed(asked: Asked, words: readonly string[]): Promise<NamedJob> {
  const [named, jobs] = objectAndJobs(words)
  if (jobs.length > 1) throw new UsageError(`found ${jobs.length} jobs (${jobs.join(', ')}), expected one`)
  const { object, job } = await findJob(asked, named, jobs[0])
  if (job === undefined) throw new Error(`the journal has no job of ${nameOf(object)}, expected one`)
  return { object, job }
}

async function exportedJob(
  asked: Asked,
  { object, job: { workflowID, jobID } }: NamedJob,
  target: TemporalTarget | undefined,
): Promise<ExportedJob> {
  const journal = await exportedRows(asked, workflowID, object.uid)
  const { fetchRun, historyJson } = await import('./runs.ts')
  const run = target === undefined ? undefined : await fetchRun(target, workflowID)
  return {
    ...{ format: EXPORT_FORMAT, workflowId: workflowID, runId: run?.runID ?? '', jobID },
    history: run === undefined ? undefined : { events: historyJson(run.history) },
    journal,
  }
}
