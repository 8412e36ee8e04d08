import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { contextController } from './controller.ts'

export async function context(input: JobInput): Promise<RunResult> {
  return await runLevel(contextController, input)
}
