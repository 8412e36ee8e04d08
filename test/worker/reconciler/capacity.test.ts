import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { InFlightRuns } from '../../../activities/run/in-flight-runs.ts'
import { PendingRuns } from '../../../worker/reconciler/capacity.ts'

const RUN = 'widget/ns/a/u1'
const MOST = 6
const LONGEST_MS = 10_000

let inFlightRuns: InFlightRuns
let begun: string[]
let fresh: PendingRuns
beforeEach(() => {
  vi.useFakeTimers()
  inFlightRuns = new InFlightRuns(() => new Date())
  begun = []
  fresh = new PendingRuns({ inFlightRuns, findAdvancedRuns: () => Promise.resolve(begun) })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Waits for the first pass of a started run, like the dispatcher. */
function started(workflowID = RUN): { readonly isOver: boolean } {
  const wait = { isOver: false }
  const give = fresh.acquire('ns')
  void fresh.waitForPass(workflowID).then(() => {
    give()
    wait.isOver = true
  })
  return wait
}

describe('a started run', () => {
  it('counts as pending until its first activity in this process', async () => {
    const wait = started()
    await vi.advanceTimersByTimeAsync(1000)
    expect([wait.isOver, fresh.freeStarts]).toEqual([false, MOST - 1])
    inFlightRuns.callStarted(RUN)
    await vi.advanceTimersByTimeAsync(0)
    expect([wait.isOver, fresh.freeStarts]).toEqual([true, MOST])
  })

  it('counts as pending until its row shows a pass in another process, or until a time-out', async () => {
    const elsewhere = started('elsewhere')
    const lost = started('lost')
    begun = ['elsewhere']
    await vi.advanceTimersByTimeAsync(1000)
    expect([elsewhere.isOver, lost.isOver]).toEqual([true, false])
    await vi.advanceTimersByTimeAsync(LONGEST_MS)
    expect([lost.isOver, fresh.freeStarts]).toEqual([true, MOST])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is reported if it has not begun after the time-out', async () => {
    const late: string[] = []
    for (const workflowID of ['begun', 'refused', 'lost'])
      void fresh.waitForPass(workflowID, {
        late: () => {
          late.push(workflowID)
        },
      })
    inFlightRuns.callStarted('begun')
    fresh.passStarted('refused')
    await vi.advanceTimersByTimeAsync(LONGEST_MS - 1)
    expect(late).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(late).toEqual(['lost'])
  })

  it('releases the capacity of all its waits', async () => {
    const waits = [started(), started()]
    fresh.passStarted(RUN)
    inFlightRuns.callStarted(RUN)
    waits.push(started())
    await vi.advanceTimersByTimeAsync(LONGEST_MS)
    expect(waits.map(({ isOver }) => isOver)).toEqual([true, true, true])
    expect(fresh.freeStarts).toBe(MOST)
  })
})

describe('the recent starts', () => {
  it('are counted for namespaces with any name', () => {
    for (const namespace of ['constructor', 'ns', 'constructor']) fresh.acquire(namespace)
    expect(fresh.recentStarts()).toEqual({ constructor: 2, ns: 1 })
  })
})
