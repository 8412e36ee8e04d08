import { describe, expect, it } from 'vitest'

import { waitForAny } from '../../../worker/server/backoff.ts'

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('a rest', () => {
  it('ends with what comes first, and leaves no timer that keeps the process', async () => {
    const before = timers()
    let nudge: () => void = () => undefined
    const nudged = new Promise<void>((resolve) => (nudge = resolve))
    const resting = waitForAny(60_000, [nudged, new Promise(() => undefined)])
    expect(timers()).toBe(before + 1)
    nudge()
    await resting
    expect(timers()).toBe(before)
  })

  it('ends when its time is over', async () => {
    await waitForAny(1, [new Promise(() => undefined)])
  })

  it('fails with what failed, and leaves no timer then', async () => {
    const before = timers()
    await expect(waitForAny(60_000, [Promise.reject(new Error('gone'))])).rejects.toThrow('gone')
    expect(timers()).toBe(before)
  })
})
