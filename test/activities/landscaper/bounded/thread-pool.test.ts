// How a thread pool shares its threads when work takes long.

import { describe, expect, it } from 'vitest'
import type { BoundedThread } from '../../../../activities/landscaper/bounded/bounded-thread.ts'
import { createThreadPool } from '../../../../activities/landscaper/bounded/thread-pool.ts'

describe('a thread pool whose permanent thread is busy for long', () => {
  it('starts all its spare threads, and stops them when their work ends', async () => {
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

  it('stops its spare threads too when it closes', async () => {
    const stage = stageOf(1, 1)
    const [first, second] = [stage.hold(), stage.hold()]
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(2)
    await stage.close()
    expect(stage.running()).toBe(0)
    first.end()
    second.end()
    await Promise.all([first.done, second.done])
  })

  it('refuses queued work when it closes', async () => {
    const stage = stageOf(1, 0)
    const [first, second] = [stage.hold(), stage.hold()]
    await expect.poll(() => stage.begun()).toBe(1)
    const refused = expect(second.done).rejects.toThrow('test: found closed; expected open')
    await stage.close()
    first.end()
    await Promise.all([first.done, refused])
  })
})

describe('a thread pool that several namespaces share', () => {
  it('serves the namespaces in turn, even when one namespace has queued more work', async () => {
    const stage = stageOf(1, 0)
    const works = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map((namespace) => stage.hold(namespace))
    for (const { end } of works) end()
    await Promise.all(works.map(({ done }) => done))
    expect(stage.served).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a'])
    await stage.close()
  })

  it('reserves a thread for another namespace', async () => {
    const stage = stageOf(2, 2)
    const held = Array.from({ length: 6 }, () => stage.hold('a'))
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(3)
    const other = stage.hold('b')
    await expect.poll(() => stage.served, { timeout: 10_000 }).toContain('b')
    expect(stage.served).toEqual(['a', 'a', 'a', 'b'])
    for (const work of [...held, other]) work.end()
    await Promise.all([...held, other].map(({ done }) => done))
    await stage.close()
  })

  it('starts a spare thread in time, even while new work keeps arriving', async () => {
    const stage = stageOf(1, 1)
    const first = stage.hold()
    const waiting = [stage.hold()]
    const coming = setInterval(() => waiting.push(stage.hold()), 20)
    await expect.poll(() => stage.begun(), { timeout: 10_000 }).toBe(2)
    clearInterval(coming)
    for (const work of [first, ...waiting]) work.end()
    await Promise.all([first, ...waiting].map(({ done }) => done))
    await stage.close()
  })
})

describe('cancelled work', () => {
  it('leaves the queue', async () => {
    const stage = stageOf(1, 0)
    const ending = new AbortController()
    const [first, second, third] = [stage.hold('a'), stage.hold('b', ending.signal), stage.hold('c')]
    const rejected = expect(second.done).rejects.toBe('over')
    ending.abort('over')
    await rejected
    for (const work of [first, third]) work.end()
    await Promise.all([first.done, third.done])
    expect(stage.served).toEqual(['a', 'c'])
    await expect(stage.hold('d', ending.signal).done).rejects.toBe('over')
    await stage.close()
  })
})

/** A pool and threads that do nothing but count. */
function stageOf(permanent: number, spare: number) {
  const pool = createThreadPool('test', { permanent, spare })
  let [begun, running, asked] = [0, 0, 0]
  const served: string[] = []
  const start = (): BoundedThread => {
    running++
    const stop = () => {
      running--
      return Promise.resolve()
    }
    return { isSlow: false, run: () => Promise.resolve(undefined), stop }
  }
  const hold = (namespace = `n${++asked}`, signal?: AbortSignal) => {
    let end: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      end = resolve
    })
    const work = async () => {
      begun++
      served.push(namespace)
      await held
      return { answer: undefined, replaceThread: false }
    }
    const done = pool.use(start, work, { namespace, signal })
    return { done, end }
  }
  return { hold, served, begun: () => begun, running: () => running, close: () => pool.close() }
}
