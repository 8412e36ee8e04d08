import { describe, expect, it } from 'vitest'

import { explainRollout } from '../../../../workflows/chaos/disruption-rollout/explain.ts'
import { parentOf, rolloutSpec } from '../parents.ts'

const AT_9 = '2026-01-02T09:00:00Z'
const AT_10 = '2026-01-02T10:00:00Z'

describe('the explanation of a DisruptionRollout', () => {
  it.each([
    [
      'the missing target',
      { targetResourcePreviouslyMissing: AT_9 },
      `deployment "shop" is missing since ${AT_9}; create it, or correct spec.targetResource`,
    ],
    [
      'the change that it waits for',
      { latestContainersHash: {} },
      'waits for a change of the containers of deployment "shop"',
    ],
    [
      'the last change',
      { lastContainerChangeTime: AT_9, lastScheduleTime: AT_9 },
      `created a Disruption for the change at ${AT_9}; waits for the next change of deployment "shop"`,
    ],
    [
      'the skipped change',
      { lastContainerChangeTime: AT_10, lastSkippedTime: AT_10, lastScheduleTime: AT_9 },
      `skipped the change of deployment "shop" at ${AT_10}: its Disruption would have started later than spec.delayedStartTolerance allows; increase the tolerance to make up for such changes (TooLate); waits for the next change`,
    ],
    [
      'the previous Disruption that delays a change',
      { lastContainerChangeTime: AT_10, lastSkippedTime: AT_9, lastScheduleTime: AT_9 },
      `the change of deployment "shop" at ${AT_10} has no Disruption yet: the previous Disruption "disruption-rollout-game" must be deleted first, or an emergency stop lifted`,
    ],
  ])('has %s', (_what, status, summary) => {
    expect(explainRollout({ ...parentOf(rolloutSpec()), status })).toEqual({ summary })
  })

  it('is empty before the first pass', () => {
    expect(explainRollout(parentOf(rolloutSpec()))).toEqual({})
  })
})
