// The child process of memory pressure: allocates memory up to a percentage of the target's limit.

import { readFile } from 'node:fs/promises'

import { durationMs, EXPECTED_DURATION } from '../../../../workflows/chaos/go-duration.ts'
import { absolutePath, Flags, percent } from '../../../../workflows/chaos/injector/flags.ts'
import { integerIn } from '../../../../workflows/chaos/grammar.ts'
import type { ProgramStart } from '../../../program.ts'
import { systemClock } from '../clock.ts'
import { childFlags, joinGroups, parentEnded } from './child.ts'

const STEP_MS = 1000
const BLOCK_BYTES = 16 * 1024 * 1024

/** `memory-pressure-stress --target-percent N --ramp-duration D`: runs until its parent ends. */
export async function runMemoryStress({ args, print }: ProgramStart): Promise<number> {
  const flags = new Flags(args)
  const share = flags.required('target-percent', percent(1, 100), 1)
  const rampMs = flags.withDefault('ramp-duration', { parse: durationMs, expected: EXPECTED_DURATION }, 0)
  const limit = flags.required('limit-bytes', integerIn(1, Number.MAX_SAFE_INTEGER), 1)
  const usageFile = flags.required('usage-file', absolutePath, '/')
  const child = childFlags(flags)
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('\n'))
  await joinGroups(child)
  const used = async () => Number((await readFile(usageFile, 'utf8')).trim())
  const allocated: Buffer[] = []
  const ended = new AbortController()
  const parent = parentEnded(child).then(() => ended.abort())
  const steps = Math.max(1, Math.ceil(rampMs / STEP_MS))
  const start = await used()
  const goal = Math.floor((limit * share) / 100)
  for (let step = 1; step <= steps && !ended.signal.aborted; step += 1) {
    take(allocated, start + ((goal - start) * step) / steps - (await used()))
    if (step === 1) print('ready\n')
    if (step < steps) await systemClock.sleep(STEP_MS, ended.signal)
  }
  await parent
  // Keeps the memory until here.
  allocated.length = 0
  return 0
}

/** The group accounts for memory when it is written. */
function take(taken: Buffer[], bytes: number): void {
  for (let left = bytes; left > 0; left -= BLOCK_BYTES)
    taken.push(Buffer.allocUnsafeSlow(Math.ceil(Math.min(left, BLOCK_BYTES))).fill(0xa5))
}
