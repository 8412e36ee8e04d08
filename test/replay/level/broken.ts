// Worker entry with an incompatible run in level mode: it observes once more.

import type { JobInput, LevelActivities } from '../../../workflows/kit/index.ts'
import { runLevel, type RunResult, shortActivities } from '../../../workflows/kit/run/loop/index.ts'
import { beaconKind, controllers } from './beacon.ts'

export async function beacon(input: JobInput): Promise<RunResult> {
  const { observeLevel } = shortActivities<LevelActivities>()
  const by = { workflowID: 'beacon', runID: 'beacon', pass: 0 }
  await observeLevel({ by, subject: input.subject, target: beaconKind, queries: {} })
  return await runLevel(controllers[0], input)
}
