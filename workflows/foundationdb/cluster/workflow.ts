import type { JobInput } from '../../kit/index.ts'
import { runLevel, type RunResult } from '../../kit/run/loop/index.ts'
import { clusterController } from './controller.ts'

export async function fdbcluster(input: JobInput): Promise<RunResult> {
  return await runLevel(clusterController, input)
}
