// Limits the CPU time of a function, for tests of worst-case inputs. CPU time does not depend on other work of the machine.

import { expect } from 'vitest'

/** Fails when the work takes more CPU. @param mostMs generous, because a regression takes minutes. */
export function expectCpuBelow<T>(mostMs: number, work: () => T): T {
  const before = process.cpuUsage()
  const result = work()
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(mostMs)
  return result
}
