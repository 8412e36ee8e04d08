// The command `pawl journal export`: one job with all that is known of it in a file, for whoever looks at it elsewhere or later.

import { writeJson } from '../../../workflows/kit/index.ts'
import { Command } from 'commander'
import { writeFile } from 'node:fs/promises'

import { readConfig } from '../../server/config.ts'
import { asking, type AskFlags, withAskFlags } from '../ask/open-journal.ts'
import { foldFlags, TEMPORAL_DETAILS } from '../help.ts'
import { temporalPlace, type TemporalPlaceFlags, withTemporalFlags } from '../temporal-place.ts'
import { exportedJob, jobNamed } from './exported-job.ts'

interface ExportFlags extends AskFlags, TemporalPlaceFlags {
  readonly out?: string
}

export function exportCommand(): Command {
  const bare = new Command('export')
    .description("write a job's run and all that the journal has of it as JSON")
    .argument('<object and job...>', 'the object, and a job of it (default: the newest)')
    .option('--out <file>', 'the file to write (default: standard output)')
  const command = withTemporalFlags(withAskFlags(bare))
  return foldFlags(command, TEMPORAL_DETAILS)
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
      const { unseen = 0 } = exported.journal ?? {}
      if (unseen > 0)
        process.stderr.write(`pawl: ${unseen} rows about objects that you may not see are not in the file\n`)
      const text = `${writeJson(exported)}\n`
      if (flags.out === undefined) process.stdout.write(text)
      else await writeFile(flags.out, text, { mode: 0o600 })
    })
}
