// The commands that run one of Pawl's processes (`pawl worker`, `pawl bridge`): they check the flags and pass them on.

import { Command } from 'commander'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { childEnvironment, type Config, processArgs, readConfig } from '../server/config.ts'
import { UsageError } from '../server/usage-error.ts'
import { checkControllers } from './check-controllers.ts'
import { joined } from './usage.ts'

export interface ProcessEntry {
  readonly name: string
  readonly description: string
  /** The file below worker/ that has the process's `main`. */
  readonly entry: string
  readonly flags: Readonly<Record<string, readonly [value: string, text: string]>>
  /** Throws when the process could not start with these flags. */
  readonly check: (flags: Readonly<Record<string, string | undefined>>, config: Config) => unknown
}

export function processCommand({ name, description, entry, flags, check }: ProcessEntry): Command {
  const command = new Command(name).description(description)
  for (const [flag, [value, text]] of Object.entries(flags))
    command.option(`--${flag} ${value}`, text, flag === 'controllers' ? joined : (last: string) => last)
  return command.action(async () => {
    const given = givenFlags(command)
    try {
      check(given, readConfig())
      await checkControllers(given['controllers'])
    } catch (error) {
      throw new UsageError(error instanceof Error ? error.message : String(error))
    }
    const args = Object.entries(given).map(([flag, value]) => `--${flag}=${value}`)
    const child = spawn(process.execPath, processArgs(entry, args), { stdio: 'inherit', env: childEnvironment() })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
    const [code] = (await once(child, 'exit')) as [number | null]
    process.exitCode = code ?? 1
  })
}

function givenFlags(command: Command): Record<string, string> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value: unknown = command.getOptionValue(option.attributeName())
      return typeof value === 'string' ? [[option.name(), value]] : []
    }),
  )
}
