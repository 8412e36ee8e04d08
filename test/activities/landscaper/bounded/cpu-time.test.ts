// Tests that the limit counts the CPU time of the work, not wall-clock time.

import { describe, expect, it } from 'vitest'
import { whenCpuTimeUsed } from '../../../../activities/landscaper/bounded/cpu-time.ts'

describe('a limit of processor time', () => {
  it('is not reached by work that gets no processor, however often it is looked at', async () => {
    const [before, now] = [100, 100]
    let [looks, used] = [0, before]
    const reached = whenCpuTimeUsed(
      () => {
        looks++
        if (looks > 20) used = now + 5
        return Promise.resolve(used)
      },
      5,
      new AbortController().signal,
    )
    await reached
    expect(looks).toBe(21)
  })

  it('is not waited for when the work is over', async () => {
    const over = new AbortController()
    let looks = 0
    const time = () => Promise.resolve(looks++)
    let isReached = false
    void whenCpuTimeUsed(time, 1, over.signal).then(() => {
      isReached = true
    })
    over.abort()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect([looks, isReached]).toEqual([1, false])
  })
})
