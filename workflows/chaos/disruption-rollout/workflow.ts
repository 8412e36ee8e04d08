import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { disruptionRolloutController } from './controller.ts'

export async function disruptionRollout(input: JobInput): Promise<RunResult> {
  return await runLevel(disruptionRolloutController, input)
}
