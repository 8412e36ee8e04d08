import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  objectKey,
  type PendingItem,
  PendingQueue,
  selectReady,
  writersOfUnansweredWrites,
} from '../../../worker/bridge/pending.ts'
import { seen } from '../../activities/journal/build-events.ts'

const NAMES = ['a', 'b', 'c'] as const
const key = (uid: string): string => `Task.test.pawl.dev/ns/task-${uid}`

/** A stream: rising versions, some of them bookmarks. */
const streams = fc.array(fc.option(fc.constantFrom(...NAMES), { nil: undefined }), { maxLength: 12 }).map((uids) =>
  uids.map((uid, index): PendingItem => {
    const resourceVersion = 100 + index
    return {
      resourceVersion,
      at: index,
      event: uid === undefined ? undefined : seen('MODIFIED', { uid, version: resourceVersion }),
    }
  }),
)
const holds = fc.subarray([...NAMES]).map((uids) => new Set(uids.map(key)))
const limits = fc.integer({ min: 1, max: 12 })
const versions = (items: readonly PendingItem[]): number[] =>
  items.flatMap(({ event }) => (event ? [Number(event.object.metadata.resourceVersion)] : []))

describe('choosing what of the queue may be journaled now', () => {
  it('never moves the checkpoint past an event that waits', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { checkpoint = 0, waiting: rest } = selectReady(items, held, limit)
        expect(versions(rest).every((version) => version > checkpoint)).toBe(true)
      }),
    )
  })

  it('loses and doubles no event, and keeps the order of each object', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { events, waiting: rest } = selectReady(items, held, limit)
        const ready = events.map(({ object }) => Number(object.metadata.resourceVersion))
        expect([...ready, ...versions(rest)].sort()).toEqual(versions(items))
        for (const name of NAMES) {
          const own = events
            .filter((event) => objectKey(event) === key(name))
            .map(({ object }) => Number(object.metadata.resourceVersion))
          const waiting = rest.flatMap(({ event }) =>
            event !== undefined && objectKey(event) === key(name)
              ? [Number(event.object.metadata.resourceVersion)]
              : [],
          )
          expect([...own, ...waiting]).toEqual([...own, ...waiting].sort())
        }
      }),
    )
  })

  it('lets no held object through and keeps the limit', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { events } = selectReady(items, held, limit)
        expect(events.length).toBeLessThanOrEqual(limit)
        expect(events.some((event) => held.has(objectKey(event)))).toBe(false)
      }),
    )
  })

  it('takes everything up to the last bookmark when nothing is held', () => {
    const items: PendingItem[] = [
      { resourceVersion: 5, event: seen('ADDED', { version: 5 }), at: 1 },
      { resourceVersion: 9, event: undefined, at: 2 },
    ]
    expect(selectReady(items, new Set(), 10)).toMatchObject({ checkpoint: 9, rest: [] })
  })
})

describe('an event that came while a write of its object was on its way', () => {
  const came = (uid: string, at: number): PendingItem => ({
    resourceVersion: at,
    event: seen('MODIFIED', { uid, version: at }),
    at,
  })
  const told = (items: readonly PendingItem[]) => {
    const write = { object: key('a'), writer: 'run', begunAt: 100 }
    const writers = writersOfUnansweredWrites(items, [write], 1000)
    return items.map(({ event }) => event && writers.get(event))
  }

  it('is told of the run that was never answered; others, earlier and later ones are not', () => {
    const items = [came('a', 99), came('a', 100), came('b', 100), came('a', 1100), came('a', 1101)]
    expect(told(items)).toEqual([undefined, 'run', undefined, 'run', undefined])
  })
})

describe('a queue that is full', () => {
  it('lets nobody add until something leaves, and gives up with the signal', async () => {
    const queue = new PendingQueue(1)
    const { signal } = new AbortController()
    const item = { resourceVersion: 1, event: undefined }
    await queue.add(item, 0, signal)
    let added = false
    const second = queue.add({ ...item, resourceVersion: 2 }, 0, signal).then(() => (added = true))
    await new Promise(setImmediate)
    expect(added).toBe(false)
    queue.replaceFirst(1, [], 0)
    await second
    expect(queue.items.map(({ resourceVersion }) => resourceVersion)).toEqual([2])

    const stopping = new AbortController()
    const third = queue.add(item, 0, stopping.signal)
    stopping.abort(new Error('stopped'))
    await expect(third).rejects.toThrow('stopped')
  })

  it('says how long its oldest item has waited', async () => {
    const queue = new PendingQueue(3)
    const { signal } = new AbortController()
    expect(queue.ageMs(50)).toBe(0)
    await queue.add({ resourceVersion: 1, event: undefined }, 10, signal)
    await queue.add({ resourceVersion: 2, event: undefined }, 30, signal)
    expect(queue.ageMs(50)).toBe(40)
    queue.replaceFirst(2, [], 50)
    expect(queue.ageMs(60)).toBe(0)
  })
})
