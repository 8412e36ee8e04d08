// What must not cost much, whatever it is given. CPU of this process counts, and no clock: on a machine that others share that says nothing.

import { expect } from 'vitest'

/** Does the work and fails when it has cost so much. @param mostMs of CPU; generous: what is meant are minutes. */
export function expectCpuBelow<T>(mostMs: number, work: () => T): T {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(mostMs)
  return result
}
