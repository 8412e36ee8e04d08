// The commands `sweep` and `capabilities` of the injector.

import { absolutePath, Flags } from '../../../workflows/chaos/injector/flags.ts'
import { whole } from '../../../workflows/chaos/grammar.ts'
import type { ProgramStart } from '../../program.ts'
import { tryCapabilities } from './capabilities.ts'
import { Children } from './children.ts'
import { openCluster } from './cluster-client.ts'
import { systemClock } from './clock.ts'
import type { Machine } from './executor.ts'
import { createLog } from './log.ts'
import { networkOf } from './processes.ts'
import { readSettings } from './settings.ts'
import { runProgram } from './shell.ts'
import { sweepAll } from './sweep.ts'
import { UndoLog } from './undo-log.ts'

/** Exit code 1 when something is left that is Pawl's, or may be. */
export async function runSweep({ args, env, self, print }: ProgramStart): Promise<number> {
  const settings = readSettings(env)
  const flags = new Flags(args)
  const folder = flags.withDefault('state', absolutePath, settings.stateFolder)
  const pid = flags.optional('network-of', whole(1, 2 ** 22))
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('; '))
  const { proc } = settings
  const network = pid === undefined ? undefined : await networkOf(proc, pid)
  if (pid !== undefined && network === undefined) throw new Error(`--network-of: process ${pid} is not there`)
  const cluster = openCluster(settings)
  const children = new Children({ proc, env, self })
  const machine: Machine = { proc, run: runProgram, clock: systemClock, children, cluster }
  const log = createLog(print, settings.logLevel, {}, systemClock.now)
  if (log === undefined) throw new Error(`LOG_LEVEL: found '${settings.logLevel}', expected debug, info, warn or error`)
  const { undone, left } = await sweepAll({ machine, undoLog: new UndoLog(folder), log }, network?.inode)
  await cluster?.close()
  for (const line of undone) print(`undone: ${line}\n`)
  for (const line of left) print(`left: ${line}\n`)
  return left.length > 0 ? 1 : 0
}

/** Prints what this kernel lacks, and nothing when it lacks nothing. */
export async function runCapabilities({ print }: ProgramStart): Promise<number> {
  for (const [name, why] of Object.entries(await tryCapabilities(runProgram))) print(`lacks ${name}: ${why}\n`)
  return 0
}
