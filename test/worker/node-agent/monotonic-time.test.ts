import { expect, it } from 'vitest'

import { monotonicTime } from '../../../worker/node-agent/monotonic-time.ts'

it("the monotonic time follows the machine's clock forward, and continues when the clock is set back", () => {
  const time = { machine: 1_000_000, steady: 0 }
  const now = monotonicTime(
    () => time.machine,
    () => time.steady,
  )
  const go = (ms: number) => {
    time.machine += ms
    time.steady += ms
  }
  go(1000)
  expect(now()).toBe(1_001_000)
  time.machine -= 3_600_000
  go(1000)
  expect(now()).toBe(1_002_000)
  time.machine += 7_200_000
  go(1000)
  expect(now()).toBe(1_003_000 + 3_600_000)
})
