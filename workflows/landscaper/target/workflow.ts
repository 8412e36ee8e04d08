import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { targetController } from './controller.ts'

export async function target(input: JobInput): Promise<RunResult> {
  return await runLevel(targetController, input)
}
