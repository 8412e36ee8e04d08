// Steps of clocks while a process polls them.

import { expect, it } from 'vitest'

import { createClockStepWatcher, createStepDetector } from '../../../worker/server/clocks.ts'

function clocksThatGo() {
  const time = { steady: 0, machine: 1_000_000, database: 2_000_000 }
  const go = (ms: number) => {
    time.steady += ms
    time.machine += ms
    time.database += ms
  }
  const clocks = { machine: () => time.machine, database: () => time.database }
  return { time, go, clocks, find: createStepDetector(clocks, () => time.steady) }
}

it('reports a step of a clock once, with its size', () => {
  const { time, go, find } = clocksThatGo()
  expect(find()).toEqual([])
  go(60_000)
  expect(find()).toEqual([])
  time.machine += 3_600_000
  go(1000)
  expect(find()).toEqual([{ clock: 'machine', byMs: 3_600_000 }])
  expect(find()).toEqual([])
  time.database -= 3_600_000
  expect(find()).toEqual([{ clock: 'database', byMs: -3_600_000 }])
  expect(find()).toEqual([])
})

it('S1: does not report drift, however large', () => {
  const { time, go, find } = clocksThatGo()
  for (let looks = 0; looks < 100; looks += 1) {
    go(1000)
    time.machine += 500
    expect(find()).toEqual([])
  }
})

it('calls the listeners and logs the step', async () => {
  const { time, clocks } = clocksThatGo()
  const stop = new AbortController()
  const lines: unknown[] = []
  const steps = createClockStepWatcher(clocks, () => time.steady)
  let heard = 0
  steps.onStep(() => {
    heard += 1
    stop.abort()
  })
  const following = steps.follow({ warn: (...line: unknown[]) => void lines.push(line[0]) } as never, stop.signal)
  time.machine -= 7_200_000
  await following
  expect([heard, lines]).toEqual([1, [{ clock: 'machine', byMs: -7_200_000 }]])
})
