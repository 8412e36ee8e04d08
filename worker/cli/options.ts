// Tables of flags as options of commander, and back.

import type { Command } from 'commander'

import { type FlagTable, helpOf } from '../server/flags.ts'
import { joined, parseOneOf } from './usage.ts'
import { TEMPORAL_FLAGS } from '../server/temporal.ts'
import { DATA_DIR_OPTION } from './dev-folder.ts'
import { singleLine } from './query/format.ts'

const LISTS: ReadonlySet<string> = new Set(['controllers', 'wings'])

/** The command with the flags of the table, in its order; `--controllers`, `--wings` and lists may be given several times. */
export function withFlags(command: Command, table: FlagTable): Command {
  for (const [name, flag] of Object.entries(table))
    command.option(
      `--${name} ${flag.takes}`,
      helpOf(flag),
      LISTS.has(name) || flag.reads === 'list' ? joined : (last: string) => last,
    )
  return command
}

/** The names of those that stand in `--help-all` only, as their table says. */
export function rareFlagsOf(table: FlagTable): readonly string[] {
  return Object.entries(table).flatMap(([name, { seldom: rareFlags }]) => (rareFlags === true ? [name] : []))
}

/** The flags that the command was given, as they were written. */
export function optionsOf(command: Command): Record<string, string> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value: unknown = command.getOptionValue(option.attributeName())
      if (value === true && option.optional) return [[option.name(), 'true']]
      return typeof value === 'string' ? [[option.name(), value]] : []
    }),
  )
}

// Help that fits a screen: flags that are seldom needed stand in `--help-all` only. docs/operating.md has all of them.

/** How Temporal is reached beside its address. */
export const TEMPORAL_DETAILS = Object.keys(TEMPORAL_FLAGS)

/** Where the journal and the cluster are, for those who do not go by what is set up here. */
export const LOCATION_FLAGS = [
  'context',
  'kubeconfig',
  'database-url',
  'data-dir',
  'api-url',
  'api-service',
  'cluster',
] as const

/** Takes flags out of the help of the command, which gets `--help-all` for them. Examples are added after it. @param rareFlags without dashes. @throws a plain Error (a bug) for one that the command does not have. */
export function foldFlags(command: Command, rareFlags: readonly string[]): Command {
  const options = rareFlags.map((name) => {
    const option = command.options.find(({ long }) => long === `--${name}`)
    if (option === undefined) throw new Error(`pawl ${command.name()} has no --${name} to take out of its help`)
    return option.hideHelp()
  })
  const [first] = rareFlags
  return command
    .option('--help-all', `display help with ${options.length} flags more, such as --${first ?? ''}`)
    .on('option:help-all', () => {
      for (const option of options) option.hideHelp(false)
      command.help()
    })
}

/** The last part of a help. */
export function withExamples(command: Command, ...lines: readonly [string, ...string[]]): Command {
  return command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'))
}

// What commands that people do things with have in common: where the cluster is, why they do it, and how what was done is told.

export function withReason(command: Command): Command {
  return command.option('--reason <text>', 'why, for those who look at it later')
}

/** @param namespace what `-n` names: `the namespace`. */
export function withWriteFlags(command: Command, formats: readonly string[], namespace: string): Command {
  return command
    .option('-o, --output <format>', formats.join(', '), parseOneOf(formats), 'text')
    .option('-n, --namespace <name>', `${namespace} (default: that of the kubeconfig's context)`)
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'the cluster and your account (default: $KUBECONFIG, else that of pawl dev)')
    .option(...DATA_DIR_OPTION)
}

const LONGEST_LINE = 4000

/** Texts of objects may have what moves a cursor; how far a line is indented stays. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${/^ */.exec(line)?.[0] ?? ''}${singleLine(line, LONGEST_LINE)}\n`).join('')
}
