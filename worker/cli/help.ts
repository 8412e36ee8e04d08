// Help that fits a screen: flags that are seldom needed stand in `--help-all` only. docs/operating.md has all of them.

import type { Command } from 'commander'

import { TEMPORAL_FLAGS } from '../server/temporal.ts'

/** How Temporal is reached beside its address. */
export const TEMPORAL_DETAILS = Object.keys(TEMPORAL_FLAGS)

/** Where the journal and the cluster are, for those who do not go by what is set up here. */
export const PLACES = [
  'context',
  'kubeconfig',
  'database-url',
  'data-dir',
  'api-url',
  'api-service',
  'cluster',
] as const

/** Takes flags out of the help of the command, which gets `--help-all` for them. Examples are added after it. @param seldom without dashes. @throws a plain Error (a bug) for one that the command does not have. */
export function foldFlags(command: Command, seldom: readonly string[]): Command {
  const folded = seldom.map((name) => {
    const option = command.options.find(({ long }) => long === `--${name}`)
    if (option === undefined) throw new Error(`pawl ${command.name()} has no --${name} to take out of its help`)
    return option.hideHelp()
  })
  const [first] = seldom
  return command
    .option('--help-all', `display help with ${folded.length} flags more, such as --${first ?? ''}`)
    .on('option:help-all', () => {
      for (const option of folded) option.hideHelp(false)
      command.help()
    })
}

/** The last part of a help. */
export function withExamples(command: Command, ...lines: readonly [string, ...string[]]): Command {
  return command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
}
