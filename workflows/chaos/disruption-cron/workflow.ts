import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { disruptionCronController } from './controller.ts'

export async function disruptionCron(input: JobInput): Promise<RunResult> {
  return await runLevel(disruptionCronController, input)
}
