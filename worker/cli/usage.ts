// Runs commander with Pawl's error messages and exit codes: usage errors end with exit code 2.

import { CommanderError, InvalidArgumentError, type Command } from 'commander'

import { UsageError } from '../server/usage-error.ts'

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
  throw new InvalidArgumentError(`found '${text}', expected a port from 1 to 65535.`)
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
    throw new InvalidArgumentError(`found '${text}', expected one of ${values.join(', ')}.`)
  }
}

function explain(command: Command, text: string): string {
  const found =
    text
      .trim()
      .replace(/^error: /, '')
      .split('\n', 1)[0] ?? ''
  const options = command.options.map((option) => option.long ?? option.short ?? '').filter((name) => name !== '')
  const commands = command.commands.map((child) => child.name())
  if (found.startsWith('unknown option'))
    return `${found} of '${path(command)}', expected one of ${[...options, '--help'].join(', ')}`
  if (found.startsWith('unknown command'))
    return `${found} of '${path(command)}', expected one of ${commands.join(', ')}`
  if (found.startsWith('too many arguments')) return `${found}; see '${path(command)} --help'`
  return found
}

function path(command: Command): string {
  return command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`
}

/** Visits the command and all commands below it. */
export function forEachCommand(command: Command, visit: (command: Command) => void): void {
  visit(command)
  for (const child of command.commands) forEachCommand(child, visit)
}
