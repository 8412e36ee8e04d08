import { beforeEach, describe, expect, it } from 'vitest'

import { InFlightRuns } from '../../../activities/run/in-flight-runs.ts'

const START = Date.UTC(2030, 0, 1)
const RUN = 'installation/ns/shop/u1/job'

let ms: number
let inFlightRuns: InFlightRuns
beforeEach(() => {
  ms = 0
  inFlightRuns = new InFlightRuns(() => new Date(START + ms))
})

/** 'seen', 'signal', or in how many milliseconds the wake comes again. `passes`: as the run's row counts them. */
function wake({ version = 1, passes = 1, uid = 'u1', seq = 1 } = {}): string | number {
  const met = inFlightRuns.routeWake(
    { controller: 'installation', uid, job_id: '', version, seq },
    { workflow_id: RUN, passes },
  )
  return typeof met === 'string' ? met : met.getTime() - START - ms
}

describe('a waiting run', () => {
  it('is signalled for a wake', () => {
    expect(wake()).toBe('signal')
    inFlightRuns.passStarted(RUN)
    expect(inFlightRuns.passSettled(RUN).woken).toBe(false)
    ms = 1000
    expect(wake()).toBe('signal')
  })

  it('is signalled for events at most once in 100 ms, but for each due time', () => {
    wake()
    ms = 30
    expect(wake({ version: 2 })).toBe(70)
    expect(wake({ version: 2, seq: 0 })).toBe('signal')
    ms = 130
    expect(wake({ version: 3 })).toBe('signal')
  })

  it('is signalled once for all deferred wakes', () => {
    expect([wake(), wake({ uid: 'item', version: 2 }), wake({ uid: 'other', version: 3 })]).toEqual([
      'signal',
      100,
      100,
    ])
    ms = 100
    expect(wake({ uid: 'item', version: 2 })).toBe('signal')
    expect(wake({ uid: 'other', version: 3 })).toBe('seen')
    // The signal has failed.
    ms = 200
    expect(wake({ uid: 'item', version: 2 })).toBe('signal')
    // Something came since.
    expect(wake({ uid: 'other', version: 4 })).toBe(100)
  })

  it('is not signalled within 100 ms after its start', () => {
    inFlightRuns.runStarted(RUN)
    ms = 10
    expect(wake()).toBe(90)
  })
})

describe('a run in flight', () => {
  beforeEach(() => inFlightRuns.passStarted(RUN))

  it('gets its pending wakes from the settle; the next dispatch of a wake is acknowledged when a later pass has started', () => {
    expect([wake(), wake({ uid: 'item', version: 2 })]).toEqual([2000, 2000])
    expect(inFlightRuns.passSettled(RUN)).toEqual({ woken: true, wokenBy: [1] })
    inFlightRuns.passStarted(RUN)
    expect(inFlightRuns.passSettled(RUN)).toEqual({ woken: false })
    ms = 2000
    expect(wake({ passes: 2 })).toBe('seen')
    expect(wake({ passes: 2, uid: 'item', version: 2 })).toBe('seen')
    // Something came since.
    expect(wake({ passes: 2, version: 3 })).toBe('signal')
  })

  it('acknowledges wakes from before the start of its pass', () => {
    wake()
    inFlightRuns.passStarted(RUN)
    expect(inFlightRuns.passSettled(RUN).woken).toBe(false)
    expect(wake({ passes: 2 })).toBe('seen')
  })

  it('is signalled when another process has also started a pass, because this worker may be stale', () => {
    wake()
    inFlightRuns.passSettled(RUN)
    inFlightRuns.passStarted(RUN)
    inFlightRuns.passSettled(RUN)
    ms = 2000
    expect(wake({ passes: 3 })).toBe('signal')
  })

  it('keeps its wakes pending while it is active, and is signalled 2 s after its last activity', () => {
    expect(wake()).toBe(2000)
    ms = 1999
    inFlightRuns.callStarted(RUN)('done')
    ms = 3998
    expect(wake()).toBe(2000)
    ms = 3999
    expect(wake()).toBe('signal')
    inFlightRuns.callStarted('installation/ns/other/u2/job')('done')
  })

  it('keeps its wakes pending while one of its calls is open, for at most 30 s', () => {
    const ended = inFlightRuns.callStarted(RUN)
    ms = 29_999
    expect(wake()).toBe(2000)
    ended('done')
    ms = 31_998
    expect(wake()).toBe(2000)
    ms = 31_999
    expect(wake()).toBe('signal')
    inFlightRuns.passStarted(RUN)
    inFlightRuns.callStarted(RUN)
    ms = 61_999
    expect(wake({ version: 2, passes: 2 })).toBe('signal')
  })

  it('gets the wakes of 5000 items again at a rate of 100 per second, and acknowledges them with one pass', () => {
    const items = Array.from({ length: 5000 }, (_, index) => ({ uid: `item-${index}`, version: index }))
    const later = items.map((item) => Number(wake(item)))
    expect(later.slice(0, 101)).toEqual(Array.from({ length: 101 }, () => 2000))
    expect(later.slice(101)).toEqual(Array.from({ length: 4899 }, (_, index) => 2010 + index * 10))
    expect(inFlightRuns.passSettled(RUN).woken).toBe(true)
    inFlightRuns.passStarted(RUN)
    for (const item of items) expect(wake({ ...item, passes: 2 })).toBe('seen')
  })

  it('waits after its settle, even when an activity call ends later', () => {
    inFlightRuns.passSettled(RUN)
    inFlightRuns.callStarted(RUN)('done')
    expect(wake()).toBe('signal')
  })

  it('takes no pending wakes in two passes in a row, so that an object that always changes cannot occupy a workflow task', () => {
    wake()
    expect(inFlightRuns.passSettled(RUN).woken).toBe(true)
    inFlightRuns.passStarted(RUN)
    expect(wake({ version: 2, passes: 2 })).toBe(100)
    expect(inFlightRuns.passSettled(RUN).woken).toBe(false)
    ms = 100
    expect(wake({ version: 2, passes: 2 })).toBe('signal')
    inFlightRuns.passStarted(RUN)
    expect(wake({ version: 3, passes: 3 })).toBe(2000)
  })

  it('is removed when it ends', () => {
    wake()
    inFlightRuns.runEnded(RUN)
    expect(inFlightRuns.passSettled(RUN).woken).toBe(false)
    expect(wake()).toBe('signal')
  })
})

it('InFlightRuns forgets all runs when it reaches the limit of 10,000 runs', () => {
  inFlightRuns.passStarted(RUN)
  for (let index = 0; index < 10_000; index++) inFlightRuns.passStarted(`installation/ns/shop/${index}/job`)
  expect(wake()).toBe('signal')
})

describe('an activity call that occupied the workflow task of its run', () => {
  it('counts once when it failed, with the duration of the slowest call of the pass', () => {
    const [short, long, fine] = [
      inFlightRuns.callStarted(RUN),
      inFlightRuns.callStarted(RUN),
      inFlightRuns.callStarted(RUN),
    ]
    ms = 5000
    short('failed')
    ms = 28_000
    long('failed')
    ms = 29_000
    fine('done')
    inFlightRuns.passStarted(RUN)
    expect([inFlightRuns.takeSlowestCallMs(RUN), inFlightRuns.takeSlowestCallMs(RUN)]).toEqual([28_000, 0])
    inFlightRuns.callStarted(RUN)('failed')
    expect(inFlightRuns.takeSlowestCallMs(RUN)).toBe(0)
  })

  it('counts also when it timed out and is still open, until 60 s have passed or the pass settles', () => {
    inFlightRuns.passStarted(RUN)
    const endless = inFlightRuns.callStarted(RUN)
    ms = 30_000
    expect(inFlightRuns.takeSlowestCallMs(RUN)).toBe(30_000)
    ms = 90_000
    expect(inFlightRuns.takeSlowestCallMs(RUN)).toBe(0)
    endless('failed')
    inFlightRuns.passSettled(RUN)
    expect(inFlightRuns.takeSlowestCallMs(RUN)).toBe(0)
  })
})
