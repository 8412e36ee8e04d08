// The commands that run one of Pawl's processes (`pawl worker`, `pawl bridge`, `pawl webhook`): they check the flags and pass them on.

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
  /** The file below worker/ that has the process's `main`. */
  readonly entry: string
  readonly flags: FlagTable
  /** Throws when the process could not start with these flags. */
  readonly check: (given: GivenFlags, config: Config) => unknown
  /** Flags that stand in `--help-all` only, beside those of which the table says so. */
  readonly seldom?: readonly string[]
  readonly examples: readonly [string, ...string[]]
  /** It runs the activities of controllers. */
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

// A mistake in `--wings`, or in a module of `--controllers`, is told by the command at once, in one line, and not by the processes that it starts.

/**
 * @param acts whether their activities are run; `only`: of which.
 * @throws with the file, what was found and what was expected.
 */
export async function checkControllers(
  controllers: string | undefined,
  wings: string | undefined,
  { acts, only }: { readonly acts: boolean; readonly only?: string | undefined },
): Promise<void> {
  if (controllers === undefined && wings === undefined) return
  // The commands that need none of this start faster without it.
  const { controllerFiles, loadRegistry } = await import('../server/registry.ts')
  const { wingsOn } = await import('../server/wings.ts')
  const { levels } = await loadRegistry(controllerFiles(controllers), wingsOn(wings))
  if (!acts) return
  const { loadOwnActivities } = await import('../server/load-controllers.ts')
  const served = only?.split(',').map((name) => name.trim())
  await loadOwnActivities(levels.filter(({ name }) => served?.includes(name) ?? true))
}
