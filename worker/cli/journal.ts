// The commands `pawl journal export`, `verify` and `prune`: the journal as a whole, for those who operate it.

import { Command } from 'commander'

import { exportCommand } from './journal/export.ts'
import { pruneCommand } from './journal/prune.ts'
import { verifyCommand } from './journal/verify.ts'

export function journalCommand(): Command {
  return new Command('journal')
    .summary('take a job out of the journal, verify it, forget what is old')
    .description('take a job out of the journal, look whether it is sound, forget what is old')
    .addCommand(exportCommand())
    .addCommand(verifyCommand())
    .addCommand(pruneCommand())
}
