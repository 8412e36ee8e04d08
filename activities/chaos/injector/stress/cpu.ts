// The child process of CPU pressure: one thread for each CPU of the target.

import { availableParallelism, setPriority } from 'node:os'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

import { Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { integerIn } from '../../../../workflows/chaos/grammar.ts'
import type { ProgramStart } from '../../../program.ts'
import { childFlags, joinGroups, parentEnded } from './child.ts'

/** The highest priority, so that it gets its share on busy CPUs. Source: spec/chaos.md 3.8. */
const PRIORITY = -20

/** `cpu-pressure-stress --percentage P`: runs until its parent ends. */
export async function runCpuStress({ args, print }: ProgramStart): Promise<number> {
  const flags = new Flags(args)
  const percentage = flags.required('percentage', integerIn(0, 100), 0)
  const child = childFlags(flags)
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('\n'))
  await joinGroups(child)
  // Threads inherit the priority.
  setPriority(PRIORITY)
  const file = new URL(`./busy-thread${extname(import.meta.filename)}`, import.meta.url)
  // The CPUs that the joined group allows.
  for (let cpu = 0; cpu < availableParallelism(); cpu += 1) new Worker(file, { workerData: { percentage } })
  print('ready\n')
  await parentEnded(child)
  return 0
}
