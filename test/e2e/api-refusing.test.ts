// The API server refuses a share of all requests, reads and watches too, while a job and a deletion run: with 429, for a while with 401 or 403, or with
// 410 where a watch wants to go on. What comes out is what comes out of an undisturbed run. Source: spec/engine.md 4.4 (T10); docs/faults.md.

import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  closeLane,
  type Course,
  type Lane,
  openLane,
  runBoth,
  undisturbedOn,
  withoutSettles,
} from '../support/crash.ts'
import { byForm, SEED } from '../support/matrix/form.ts'
import { refused } from '../support/read-faults.ts'
import { PATIENT_TASKS } from '../support/stage.ts'
import { diceOf } from '../support/matrix/dice.ts'

const servers = inject('servers')

// On a busy machine a process takes many seconds to start, and a course that is disturbed some more.
const LIMIT_MS = 240_000
/** Of all requests. */
const SHARE = byForm(0.25, 0.5)

/** Requests in a row. */
const MOST_SPARED = 5

let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  expected = await undisturbedOn('refusing', servers, (own) => runBoth(own, 'undisturbed'))
  lane = await openLane('refusing', servers, { workerFlags: PATIENT_TASKS })
}, LIMIT_MS)
afterEach(() => {
  lane.proxy.reads = {}
  lane.bridgeProxy.reads = {}
})
afterAll(() => closeLane(lane))

describe('an installation whose API server', { timeout: LIMIT_MS }, () => {
  it('T10: is too busy for a share of all requests ends like any other', async () => {
    const random = diceOf(SEED)
    let busy = 0
    let spared = 0
    const throttle = () => {
      // By dice alone there may be next to none.
      if (random() >= SHARE && ++spared < MOST_SPARED) return undefined
      spared = 0
      busy++
      return { status: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 }
    }
    const instead = () => {
      const refusal = throttle()
      return refusal && refused(refusal)
    }
    lane.proxy.reads = { instead }
    lane.bridgeProxy.reads = { instead }
    // So that the bridge asks for its watches anew, and is refused, too.
    const courses = await runBoth(lane, 'busy', () => (lane.bridgeProxy.cutWatches(), throttle()))
    expect(courses.map(withoutSettles), `PAWL_SEED=${SEED}`).toEqual(expected.map(withoutSettles))
    expect(busy, `PAWL_SEED=${SEED}`).toBeGreaterThan(3)
  })

  it.each([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
  ])('T10: knows nobody for a while, and cuts its watches, ends like any other: %i', async (status, reason) => {
    let refusals = 0
    // From each third write on it refuses six requests, whoever asks.
    let left = 0
    const forget = () => {
      if (left === 0) return undefined
      left--
      refusals++
      return { status, reason }
    }
    const instead = () => {
      const refusal = forget()
      return refusal && refused(refusal)
    }
    lane.proxy.reads = { instead }
    lane.bridgeProxy.reads = { instead }
    const courses = await runBoth(lane, `unknown-${status}`, (_label, nth) => {
      if (nth % 6 === 3) {
        left = 6
        lane.bridgeProxy.cutWatches()
      }
      return forget()
    })
    expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
    expect(refusals).toBeGreaterThan(10)
  })
})
