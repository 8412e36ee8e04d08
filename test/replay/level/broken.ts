// A worker's entry whose run in level mode looks once more than it did: what a careless change of the loop would do to open runs.

import type { JobInput, LevelActivities } from '../../../workflows/kit/index.ts'
import { runLevel, type RunResult, shortActivities } from '../../../workflows/kit/run/loop/index.ts'
import { beaconKind, controllers } from './beacon.ts'

export async function beacon(input: JobInput): Promise<RunResult> {
  const { observeLevel } = shortActivities<LevelActivities>()
  const by = { workflowID: 'beacon', runID: 'beacon', pass: 0 }
  await observeLevel({ by, subject: input.subject, target: beaconKind, queries: {} })
  return await runLevel(controllers[0], input)
}
