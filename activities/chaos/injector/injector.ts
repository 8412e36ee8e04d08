// The program `injector`: injects one kind of disruption into a target, waits, and cleans up; or runs a helper
// subcommand. Its first argument is the kind of disruption or the subcommand. Source: spec/chaos.md chapter 3.

import { rm, writeFile } from 'node:fs/promises'

import type { ProgramStart } from '../../program.ts'
import { systemClock } from './clock.ts'
import { createLog, textOf } from './log.ts'
import { readSettings, type Settings } from './settings.ts'
import { reportingLog, TerminationMessage } from './termination-message.ts'
import { FULL_USAGE, USAGE } from './usage.ts'

/** The helper subcommands. Each loads its own module, and parses its arguments and environment itself. */
const COMMANDS: Readonly<Record<string, (start: ProgramStart) => Promise<number>>> = {
  sweep: async (start) => await (await import('./sweep.ts')).runSweep(start),
  capabilities: async (start) => await (await import('./sweep.ts')).runCapabilities(start),
  'cpu-pressure-stress': async (start) => await (await import('./stress/cpu.ts')).runCpuStress(start),
  'memory-pressure-stress': async (start) => await (await import('./stress/memory.ts')).runMemoryStress(start),
  'chaos-handler': async (start) => await (await import('./handler.ts')).runHandler(start),
  'dns-responder': async (start) => await (await import('./dns/responder.ts')).runResponder(start),
}

/** Source: spec/chaos.md 3.5. */
const FAILURE = 1
/** `LOG_LEVEL` is invalid. */
const NO_LOG = 2

/**
 * Runs the command line. A help flag anywhere prints the help of the program, also after a subcommand.
 *
 * @returns the exit code. Injection: 0 after a complete clean-up, 1 after a failure or an incomplete clean-up, 2 for an
 * invalid `LOG_LEVEL`. Help: 0; without arguments 1. Subcommand: its own exit code; 1 for an error.
 */
export async function run(start: ProgramStart): Promise<number> {
  const [first, ...args] = start.args
  if (start.args.includes('--help-all')) {
    start.print(FULL_USAGE)
    return 0
  }
  if (first === undefined || first === 'help' || start.args.includes('--help')) {
    start.print(USAGE)
    return first === undefined ? FAILURE : 0
  }
  try {
    const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
    return command === undefined ? await inject(start, readSettings(start.env)) : await command({ ...start, args })
  } catch (error) {
    start.complain(`injector: ${textOf(error)}\n`)
    return FAILURE
  }
}

async function inject(start: ProgramStart, settings: Settings): Promise<number> {
  const { readInvocation } = await import('../../../workflows/chaos/injector/read-invocation.ts')
  const invocation = readInvocation(start.args)
  const message = new TerminationMessage(settings.terminationLog)
  // Reports to stderr and in the termination message of the pod.
  const complain = (problem: string) => {
    start.complain(`injector: ${problem}\n`)
    message.add(problem)
  }
  const context = 'problems' in invocation ? {} : invocation.common.log
  const log = createLog(start.print, settings.logLevel, context, systemClock.now)
  if (log === undefined) {
    complain(`LOG_LEVEL: found '${settings.logLevel}'; expected debug, info, warn or error`)
    return NO_LOG
  }
  if ('problems' in invocation) {
    for (const problem of invocation.problems) complain(problem)
    return FAILURE
  }
  // Runs the whole life of the injection, up to the clean-up.
  const { begin } = await import('./begin.ts')
  try {
    return await begin({
      start,
      settings,
      invocation,
      log: reportingLog(log, message),
      becomeReady: async () => await becomeReady(settings),
      report: (line) => message.add(line),
    })
  } catch (error) {
    message.add(textOf(error))
    throw error
  }
}

/**
 * Creates the file of the readiness probe. An existing file is removed first, because writing to it would keep its
 * mode. Source: seeds/chaos-controller.txt, step 3.
 */
async function becomeReady({ readinessFile }: Settings): Promise<void> {
  await rm(readinessFile, { force: true })
  await writeFile(readinessFile, '1', { mode: 0o400 })
}
