// Runs the reference course (course.ts) while a server fails, and compares the results with the undisturbed course.

import { expect } from 'vitest'
import type { OnWrite } from './api-proxy.ts'
import { type Course, runBoth, withoutSettles } from './course.ts'
import type { Lane } from './lane.ts'

/** A fault that is active on a lane. */
export interface ActiveFault {
  /** Called for each write of the worker. */
  readonly disturb?: OnWrite
  /** The number of faults so far. */
  readonly count: () => number | Promise<number>
  /** The minimum number of faults in the course. */
  readonly least: number
  /** Ends the fault. */
  readonly stop?: () => void | Promise<void>
}

export interface Fault {
  /** Completes the sentence "an installation whose API server ...". */
  readonly title: string
  /** True: a pass may report the fault in a status, so the comparison ignores status writes. */
  readonly isInStatus: boolean
  readonly start: (lane: Lane) => ActiveFault | Promise<ActiveFault>
}

/** @param name the name of the Installation. */
export async function expectSameCourse(
  lane: Lane,
  { start, isInStatus }: Fault,
  name: string,
  expected: readonly Course[],
): Promise<void> {
  const fault = await start(lane)
  try {
    const courses = await runBoth(lane, name, fault.disturb)
    if (isInStatus) expect(courses.map(withoutSettles)).toEqual(expected.map(withoutSettles))
    else expect(courses).toEqual(expected)
    expect(await fault.count(), 'faults').toBeGreaterThanOrEqual(fault.least)
  } finally {
    await fault.stop?.()
  }
}
