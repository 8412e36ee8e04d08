import { expect, it } from 'vitest'

import { waitUntilGone } from '../../../../worker/cli/steer/wait-for-deletion.ts'

it('a wait for a deletion prints each reason once while it holds, and returns the last state', async () => {
  const states = [['waits for a'], ['waits for a'], ['waits for a', 'waits for b'], ['waits for b'], ['waits for a']]
  const printed: (readonly string[])[] = []
  let reads = 0
  let pauses = 0
  const result = await waitUntilGone({
    read: () => {
      const lines = states[reads++]
      const isGone = lines === undefined
      return Promise.resolve({
        isGone,
        result: { lines: lines ?? ['gone'], data: { reads }, exitCode: isGone ? 0 : 3 },
      })
    },
    print: (lines) => printed.push(lines),
    pause: () => Promise.resolve(pauses++),
  })
  expect(printed).toEqual([['waits for a'], ['waits for b'], ['waits for a']])
  expect(result).toEqual({ lines: ['gone'], data: { reads: 6 }, exitCode: 0 })
  expect(pauses).toBe(5)
})
