// Runs the reference course (course.ts) while a server fails, and compares the results with the undisturbed course.

import { expect } from 'vitest'
import type { OnWrite } from './http-proxy.ts'
import { type Course, runBoth, withoutSettles } from './course.ts'
import type { Lane } from './lane.ts'
import { readiness } from '../pawl/pawl.ts'

/** A fault that is active on a lane. */
export interface ActiveFault {
  /** Called for each write of the worker. */
  readonly disturb?: OnWrite
  /** Called after the job and after the deletion. */
  readonly next?: () => void
  /** Ends the fault. The faults of reads end without it. */
  readonly stop?: () => void | Promise<void>
}

export interface Fault {
  /** Completes the sentence "an installation whose API server ...". */
  readonly title: string
  /** True: a pass may report the fault in a status, so the comparison ignores status writes. */
  readonly isInStatus?: boolean
  /** The minimum number of faults in the course. */
  readonly least: number
  /** @param struck counts faults, 1 by default. Returns their number so far. */
  readonly start: (lane: Lane, struck: (times?: number) => number) => ActiveFault | Promise<ActiveFault>
}

/** @param name the name of the Installation. */
export async function expectSameCourse(
  lane: Lane,
  { start, isInStatus, least }: Fault,
  name: string,
  expected: readonly Course[],
): Promise<void> {
  // After the faults of the case before, a watch may wait some seconds before it connects again, and would miss this case.
  await expect.poll(() => readiness(lane.pawl.log('bridge'))).toBe(200)
  let count = 0
  const fault = await start(lane, (times = 1) => (count += times))
  try {
    const courses = await runBoth(lane, name, fault.disturb, fault.next)
    if (isInStatus === true) expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
    else expect(courses).toEqual(expected)
  } finally {
    for (const proxy of [lane.proxy, lane.bridgeProxy]) proxy.reads = {}
    await fault.stop?.()
  }
  expect(count, 'faults').toBeGreaterThanOrEqual(least)
}
