// Tables of flags as options of commander, and back.

import type { Command } from 'commander'

import { type FlagTable, flagHelp } from '../server/flags.ts'
import { joined } from './usage.ts'

const LISTS: ReadonlySet<string> = new Set(['controllers', 'wings'])

/** The command with the flags of the table, in its order; `--controllers`, `--wings` and lists may be given several times. */
export function withFlags(command: Command, table: FlagTable): Command {
  for (const [name, flag] of Object.entries(table))
    command.option(
      `--${name} ${flag.takes}`,
      flagHelp(flag),
      LISTS.has(name) || flag.reads === 'list' ? joined : (last: string) => last,
    )
  return command
}

/** The names of those that stand in `--help-all` only, as their table says. */
export function seldomIn(table: FlagTable): readonly string[] {
  return Object.entries(table).flatMap(([name, { seldom }]) => (seldom === true ? [name] : []))
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
