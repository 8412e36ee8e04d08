import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { targetSyncController } from './controller.ts'

export async function targetSync(input: JobInput): Promise<RunResult> {
  return await runLevel(targetSyncController, input)
}
