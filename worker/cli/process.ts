// Commands that run one of Pawl's processes (`pawl worker`, `pawl bridge`, `pawl webhook`, `pawl api`): they check the flags
// and continue as the process.

import { Command } from 'commander'
import { inspect } from 'node:util'

import { type Config, readConfig } from '../server/config.ts'
import type { FlagTable, GivenFlags } from '../server/flags.ts'
import { UsageError } from '../server/usage-error.ts'
import { optionsOf, rareFlagsOf, withFlags, foldFlags, withExamples } from './options.ts'

interface ProcessEntry {
  readonly name: string
  readonly description: string
  /** Imports the process's main module, which reads its flags from the arguments and runs until the process ends. */
  readonly main: () => Promise<unknown>
  readonly flags: FlagTable
  /** @throws an Error if the process could not start with these flags. */
  readonly check: (given: GivenFlags, config: Config) => unknown
  /** Rare flags in addition to those that the table marks as rare. */
  readonly seldom?: readonly string[]
  readonly examples: readonly [string, ...string[]]
  /** True if the process runs activities of controllers. */
  readonly acts: boolean
}

export function processCommand(started: ProcessEntry): Command {
  const { name, description, main, flags, check, seldom = [], examples, acts } = started
  const bare = withFlags(new Command(name).description(description), flags)
  const folded = [...seldom, ...rareFlagsOf(flags)]
  const command = withExamples(folded.length === 0 ? bare : foldFlags(bare, folded), ...examples)
  return command.action(async () => {
    const given = optionsOf(command)
    try {
      check(given, readConfig())
      await checkControllers(given['controllers'], given['wings'], { acts, only: given['only'] })
    } catch (error) {
      throw new UsageError(error instanceof Error ? error.message : String(error))
    }
    const args = Object.entries(given).map(([flag, value]) => `--${flag}=${value}`)
    process.argv.splice(2, Infinity, ...args)
    try {
      await main()
    } catch (error) {
      // With the stack, unlike errors of commands: a process runs unattended.
      process.stderr.write(`${inspect(error)}\n`)
      process.exitCode = 1
    }
  })
}

// Checks `--wings` and the modules of `--controllers` before a process starts, so that the command reports a mistake in
// one line.

/**
 * @param acts true to load their activities too; `only`: of these controllers.
 * @throws an Error with the file, the value and the expected value.
 */
export async function checkControllers(
  controllers: string | undefined,
  wings: string | undefined,
  { acts, only }: { readonly acts: boolean; readonly only?: string | undefined },
): Promise<void> {
  if (controllers === undefined && wings === undefined) return
  // Commands without these flags start faster without these modules.
  const { controllerFiles, loadRegistry } = await import('../server/registry.ts')
  const { enabledWings } = await import('../server/wings.ts')
  const { levels } = await loadRegistry(controllerFiles(controllers), enabledWings(wings))
  if (!acts) return
  const { loadOwnActivities } = await import('../server/load-controllers.ts')
  const served = only?.split(',').map((name) => name.trim())
  await loadOwnActivities(levels.filter(({ name }) => served?.includes(name) ?? true))
}
