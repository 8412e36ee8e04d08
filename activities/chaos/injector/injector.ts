// The program `injector`: injects one kind of disruption into a target, waits, and cleans up. Source: spec/chaos.md
// chapter 3.

import { rm, writeFile } from 'node:fs/promises'

import type { ProgramStart } from '../../program.ts'
import { systemClock } from './clock.ts'
import { createLog, textOf } from './log.ts'
import { readSettings, type Settings } from './settings.ts'
import { reportingLog, TerminationMessage } from './termination-message.ts'
import { FULL_USAGE, USAGE } from './usage.ts'

/** The subcommands that are not kinds. Each loads its own module. */
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
const NO_LOG = 2

/**
 * Runs the command line. Returns the exit code: 0 after a complete clean-up, 1 after a failure or an incomplete
 * clean-up, 2 without a log.
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
  const complain = (problem: string) => {
    start.complain(`injector: ${problem}\n`)
    message.add(problem)
  }
  const context = 'problems' in invocation ? {} : invocation.common.log
  const log = createLog(start.print, settings.logLevel, context, systemClock.now)
  if (log === undefined) {
    complain(`LOG_LEVEL: found '${settings.logLevel}', expected debug, info, warn or error`)
    return NO_LOG
  }
  if ('problems' in invocation) {
    for (const problem of invocation.problems) complain(problem)
    return FAILURE
  }
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

/** Source: seeds/chaos-controller.txt, step 3: the file of the readiness probe. */
async function becomeReady({ readinessFile }: Settings): Promise<void> {
  await rm(readinessFile, { force: true })
  await writeFile(readinessFile, '1', { mode: 0o400 })
}
