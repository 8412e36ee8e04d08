// Creates the commands that answer a question about one object: arguments, output format and output.

import { Command } from 'commander'

import { parseOneOf } from '../usage.ts'
import { type JournalSession, withJournal, type JournalFlags, addJournalFlags } from './open-journal.ts'

interface ObjectCommandOptions<Flags, Format extends string> {
  readonly name: string
  readonly description: string
  /** Name and description of the argument; default: an object. */
  readonly argument?: readonly [usage: string, text: string]
  /** Adds the command's own flags. */
  readonly options?: (command: Command) => Command
  /** The first one is the default of `-o`. */
  readonly formats: readonly [Format, ...Format[]]
  readonly examples: readonly string[]
  readonly answer: (
    journal: JournalSession,
    words: readonly string[],
    flags: JournalFlags & Flags & { readonly output: Format },
  ) => Promise<string>
}

export const OBJECT_ARGUMENT = ['<object...>', 'the object, such as inst/shop'] as const
export const JOB_OPTION = ['--job <id>', 'this job of it (default: the newest)'] as const

export function objectCommand<Flags, Format extends string>(question: ObjectCommandOptions<Flags, Format>): Command {
  const { name, description, argument = OBJECT_ARGUMENT, options, formats, examples, answer } = question
  const bare = new Command(name).description(description).argument(...argument)
  const own = options === undefined ? bare : options(bare)
  return addJournalFlags(own.option('-o, --output <format>', formats.join(', '), parseOneOf(formats), formats[0]))
    .addHelpText('after', `\nExamples:\n${examples.map((example) => `  ${example}`).join('\n')}`)
    .action(async (words: readonly string[], flags: JournalFlags & Flags & { readonly output: Format }) => {
      process.stdout.write(await withJournal(flags, async (journal) => await answer(journal, words, flags)))
    })
}
