// The child that takes CPU in place of the target: a thread for each CPU that the target may use.

import { availableParallelism, setPriority } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { whole } from '../../../../workflows/chaos/grammar.ts'
import type { ProgramStart } from '../../../program.ts'
import { childFlags, joinGroups, parentEnded } from './child.ts'

/** Above all others, so that it gets its share also of what is busy. Source: spec/chaos.md 3.8. */
const PRIORITY = -20

/** `cpu-pressure-stress --percentage P`: lives until its parent does not. */
export async function runCpuStress({ args, print }: ProgramStart): Promise<number> {
  const flags = new Flags(args)
  const percentage = flags.required('percentage', whole(0, 100), 0)
  const child = childFlags(flags)
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('; '))
  await joinGroups(child)
  // Threads inherit it.
  setPriority(PRIORITY)
  const file = new URL(`./busy-thread${extname(import.meta.filename)}`, import.meta.url)
  // The number of those on which it may run, which joining has changed.
  for (let cpu = 0; cpu < availableParallelism(); cpu += 1) new Worker(file, { workerData: { percentage } })
  print('ready\n')
  await parentEnded(child)
  return 0
}
