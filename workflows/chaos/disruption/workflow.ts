import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { disruptionController } from './controller.ts'

export async function disruption(input: JobInput): Promise<RunResult> {
  return await runLevel(disruptionController, input)
}
