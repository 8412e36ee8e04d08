// Runs commander with Pawl's error messages and exit codes: usage errors end with exit code 2.

import { CommanderError, InvalidArgumentError, type Command } from 'commander'

import { UsageError } from '../server/usage-error.ts'
import { similarName, suggestedCommand } from './suggestion.ts'

/**
 * Parses the arguments and runs the command.
 *
 * @returns the exit code: 2 for wrong usage, 1 when the command threw, else what it set (0 by default).
 */
export async function runProgram(program: Command, argv: readonly string[]): Promise<number> {
  let exitCode = 0
  forEachCommand(program, (command) => {
    command.exitOverride()
    command.configureOutput({ outputError: (text, write) => write(`pawl: ${explain(command, text)}\n`) })
  })
  program.hook('postAction', () => {
    exitCode = Number(process.exitCode ?? 0)
  })
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    process.stderr.write(`pawl: ${error instanceof Error ? error.message : String(error)}\n`)
    return error instanceof UsageError ? 2 : 1
  }
}

/** Parser of a port option. */
export function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65535) return port
  throw new InvalidArgumentError(`found "${text}"; expected a port from 1 to 65535`)
}

/** Parser of an option that may be given several times: its values, separated by commas. */
export function joined(value: string, before: string | undefined): string {
  return before === undefined ? value : `${before},${value}`
}

/** Parser of an option with a closed list of values. */
export function parseOneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const found = values.find((value) => value === text)
    if (found !== undefined) return found
    throw new InvalidArgumentError(`found "${text}"; expected one of ${values.join(', ')}`)
  }
}

const INVALID = /^option '(?:-\w, )?(\S+).*' argument '.*' is invalid\. (.*)$/
const UNKNOWN = /^unknown (option|command) '(.*)'$/s

/** Commander's message in Pawl's form, with a suggestion for an unknown option or command. */
function explain(command: Command, text: string): string {
  const found =
    text
      .trim()
      .replace(/^error: /, '')
      .split('\n', 1)[0] ?? ''
  const name = path(command)
  const [, what, unknown = ''] = UNKNOWN.exec(found) ?? []
  if (what === 'option') {
    const known = command.options.flatMap(({ long, short }) => long ?? short ?? [])
    return `option "${unknown}" of "${name}" does not exist; ${unknownHint(unknown, known, command)}`
  }
  if (what === 'command') {
    const known = command.commands.map((child) => child.name())
    return `command "${unknown}" of "${name}" does not exist; ${unknownHint(unknown, known, command)}`
  }
  const [, option, problem] = INVALID.exec(found) ?? []
  if (option !== undefined && problem !== undefined) return `${name}: ${option}: ${problem}`
  const isMistake = /^(?:too many arguments|missing required argument)/.test(found)
  return isMistake ? `${name}: ${found}; see ${suggestedCommand(helpOf(command))}` : found
}

const MAX_LISTED = 6

function unknownHint(unknown: string, known: readonly string[], command: Command): string {
  const help = suggestedCommand(helpOf(command))
  const similar = similarName(unknown, known)
  if (similar !== undefined) return `did you mean "${similar}"?`
  return known.length > MAX_LISTED ? `see ${help}` : `expected ${known.join(', ')}; see ${help}`
}

/** The arguments of `pawl` that show the help of the command with all flags. */
function helpOf(command: Command): string {
  const all = command.options.some(({ long }) => long === '--help-all') ? '--help-all' : '--help'
  return `${path(command)} ${all}`.replace(/^pawl /, '')
}

function path(command: Command): string {
  return command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`
}

/** Visits the command and all commands below it. */
export function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const child of command.commands) forEachCommand(child, visit)
}
