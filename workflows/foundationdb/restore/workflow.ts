import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { restoreController } from './controller.ts'

export async function fdbrestore(input: JobInput): Promise<RunResult> {
  return await runLevel(restoreController, input)
}
