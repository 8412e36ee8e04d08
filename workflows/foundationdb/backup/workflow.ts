import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { backupController } from './controller.ts'

export async function fdbbackup(input: JobInput): Promise<RunResult> {
  return await runLevel(backupController, input)
}
