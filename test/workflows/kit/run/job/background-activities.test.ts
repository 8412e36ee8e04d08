// The laws of background activities, with work that ends on request of the test.

import { describe, expect, it } from 'vitest'

import { done, type Outcome, retryLater } from '../../../../../workflows/kit/plan/outcome.ts'
import {
  type StateChange,
  createBackgroundActivities,
} from '../../../../../workflows/kit/run/job/background-activities.ts'

describe('background activities', () => {
  it('run one at a time per key (K1), and wake the loop when the last one ends', async () => {
    const { tracks, started, wakes, state } = stage()
    const [first, second] = [held(), held()]
    tracks.start('a', first.work)
    tracks.start('a', second.work)
    tracks.start('b', second.work)
    expect([started(), tracks.running]).toEqual([2, 2])
    await first.end(add('a'))
    expect([wakes(), tracks.running, state()]).toEqual([0, 1, ['a']])
    await second.end(add('b'))
    expect([wakes(), tracks.running, state()]).toEqual([1, 0, ['a', 'b']])
    expect(tracks.takeFailures()).toEqual(done)
  })

  it('wake the loop immediately when one fails, and start again only after a pass has seen the failure', async () => {
    const { tracks, started, wakes } = stage()
    const [failing, running] = [held(), held()]
    tracks.start('a', failing.work)
    tracks.start('b', running.work)
    await failing.fail(new Error('world'))
    expect([wakes(), tracks.running]).toEqual([1, 1])
    tracks.start('a', failing.work)
    expect(started()).toBe(2)
    expect(tracks.takeFailures()).toEqual(retryLater('World', 'world'))
    tracks.start('a', held().work)
    expect([started(), tracks.running]).toEqual([3, 2])
  })

  it('run up to a limit at once (K3); the others start when running ones end or are cancelled', async () => {
    const { tracks, started } = stage()
    const first = held()
    tracks.start('0', first.work)
    for (let index = 1; index < 803; index++) tracks.start(String(index), held().work)
    expect([started(), tracks.running]).toEqual([800, 800])
    await first.end(add('0'))
    expect([started(), tracks.running]).toEqual([801, 800])
    const keys = Array.from({ length: 803 }, (_, index) => String(index)).filter((key) => key !== '1' && key !== '801')
    tracks.retain(new Set(keys))
    expect([started(), tracks.running]).toEqual([802, 800])
  })

  it('report a bug to the next pass', async () => {
    const { tracks } = stage()
    const buggy = held()
    tracks.start('a', buggy.work)
    await buggy.fail(new TypeError('bug'))
    expect(() => tracks.takeFailures()).toThrow('bug')
  })

  it('ignore the end of cancelled work', async () => {
    const { tracks, wakes, state, cancelled } = stage()
    const [stopped, kept] = [held(), held()]
    tracks.start('a', stopped.work)
    tracks.start('b', kept.work)
    tracks.retain(new Set(['b']))
    expect([cancelled(), tracks.running]).toEqual([1, 1])
    await stopped.fail(new Error('cancelled'))
    expect([wakes(), state(), tracks.takeFailures()]).toEqual([0, [], done])
    tracks.start('a', held().work)
    tracks.stop()
    expect([cancelled(), tracks.running]).toEqual([3, 0])
  })
})

const add =
  (name: string): StateChange<readonly string[]> =>
  (names) => [...names, name]

function stage() {
  let [started, cancelled, wakes] = [0, 0, 0]
  let state: readonly string[] = []
  const tracks = createBackgroundActivities<readonly string[]>({
    start(work) {
      started += 1
      return { end: work(), cancel: () => void (cancelled += 1) }
    },
    toOutcome: (error): Outcome | undefined =>
      error instanceof TypeError ? undefined : retryLater('World', (error as Error).message),
    ended: (change) => void (state = change(state)),
    wake: () => void (wakes += 1),
  })
  const counts = { started: () => started, cancelled: () => cancelled, wakes: () => wakes, state: () => state }
  return { tracks, ...counts }
}

/** Work that ends from outside; both ways return when those who follow it have run. */
function held() {
  let resolve: (change: StateChange<readonly string[]>) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<StateChange<readonly string[]>>((yes, no) => {
    resolve = yes
    reject = no
  })
  const settled = () => new Promise<void>((go) => setImmediate(go))
  return {
    work: () => promise,
    end: (change: StateChange<readonly string[]>) => {
      resolve(change)
      return settled()
    },
    fail: (error: Error) => {
      reject(error)
      return settled()
    },
  }
}
