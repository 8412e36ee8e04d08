// Who waits for whom when work holds its place for long.

import { describe, expect, it } from 'vitest'
import type { BoundedThread } from '../../../../activities/landscaper/render/bounded-thread.ts'
import { createThreadPool } from '../../../../activities/landscaper/render/thread-pool.ts'

describe('a pool whose kept place is held for long', () => {
  it('lends spare places, one after the other, as many as it has, and takes them back', async () => {
    const stage = stageOf(1, 2)
    const [first, second, third, fourth] = [stage.hold(), stage.hold(), stage.hold(), stage.hold()]
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(3)
    third.end()
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(4)
    for (const work of [first, second, fourth]) work.end()
    await Promise.all([first, second, third, fourth].map(({ done }) => done))
    expect(stage.running()).toBe(1)
    await stage.close()
    expect(stage.running()).toBe(0)
  })

  it('stops the threads of spare places as well when it closes', async () => {
    const stage = stageOf(1, 1)
    const [first, second] = [stage.hold(), stage.hold()]
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(2)
    await stage.close()
    expect(stage.running()).toBe(0)
    first.end()
    second.end()
    await Promise.all([first.done, second.done])
  })

  it('refuses work that still waits when it is closed', async () => {
    const stage = stageOf(1, 0)
    const [first, second] = [stage.hold(), stage.hold()]
    await expect.poll(() => stage.begun()).toBe(1)
    const refused = expect(second.done).rejects.toThrow('test: found closed, expected open')
    await stage.close()
    first.end()
    await Promise.all([first.done, refused])
  })
})

/** A pool and threads that do nothing but count. */
function stageOf(kept: number, spare: number) {
  const pool = createThreadPool('test', { kept, spare })
  let [begun, running] = [0, 0]
  const start = (): BoundedThread => {
    running++
    const stop = () => {
      running--
      return Promise.resolve()
    }
    return { isSlow: false, run: () => Promise.resolve(undefined), stop }
  }
  const hold = () => {
    let end: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    const done = pool.use(start, async () => {
      begun++
      await held
      return { answer: undefined, worn: false }
    })
    return { done, end }
  }
  return { hold, begun: () => begun, running: () => running, close: () => pool.close() }
}
