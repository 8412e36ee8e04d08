// Commands that start one of Pawl's processes (`pawl worker`, `pawl bridge`, `pawl webhook`): they check the flags and
// pass them to the process.

import { Command } from 'commander'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { childEnvironment, type Config, processArgs, readConfig } from '../server/config.ts'
import type { FlagTable, GivenFlags } from '../server/flags.ts'
import { onSignals } from '../server/process.ts'
import { UsageError } from '../server/usage-error.ts'
import { optionsOf, rareFlagsOf, withFlags, foldFlags, withExamples } from './options.ts'

interface ProcessEntry {
  readonly name: string
  readonly description: string
  /** The file in worker/ with the process's `main`. */
  readonly entry: string
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
  const { name, description, entry, flags, check, seldom = [], examples, acts } = started
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
    const child = spawn(process.execPath, processArgs(entry, args), { stdio: 'inherit', env: childEnvironment() })
    onSignals(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => child.kill(signal))
    const [code] = (await once(child, 'exit')) as [number | null]
    process.exitCode = code ?? 1
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
