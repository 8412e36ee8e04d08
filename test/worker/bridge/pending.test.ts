import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { seen } from '../../activities/journal/build-events.ts'
import {
  looksLikeOwnWrite,
  objectKey,
  type PendingItem,
  PendingQueue,
  selectReady,
  writersOfUnansweredWrites,
} from '../../../worker/bridge/pending.ts'

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

describe('selecting the events to journal', () => {
  it('never moves the checkpoint past a waiting event', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { checkpoint = 0, waiting } = selectReady(items, held, limit)
        expect(versions(waiting).every((version) => version > checkpoint)).toBe(true)
      }),
    )
  })

  it('loses and duplicates no event, and keeps the order of each object', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { events, waiting } = selectReady(items, held, limit)
        const ready = events.map(({ object }) => Number(object.metadata.resourceVersion))
        expect([...ready, ...versions(waiting)].sort()).toEqual(versions(items))
        for (const name of NAMES) {
          const own = events
            .filter((event) => objectKey(event) === key(name))
            .map(({ object }) => Number(object.metadata.resourceVersion))
          const waitingVersions = waiting.flatMap(({ event }) =>
            event !== undefined && objectKey(event) === key(name)
              ? [Number(event.object.metadata.resourceVersion)]
              : [],
          )
          expect([...own, ...waitingVersions]).toEqual([...own, ...waitingVersions].sort())
        }
      }),
    )
  })

  it('selects no event on a held object and respects the limit', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { events } = selectReady(items, held, limit)
        expect(events.length).toBeLessThanOrEqual(limit)
        expect(events.some((event) => held.has(objectKey(event)))).toBe(false)
      }),
    )
  })

  it('selects all events and the last bookmark if no object is held', () => {
    const items: PendingItem[] = [
      { resourceVersion: 5, event: seen('ADDED', { version: 5 }), at: 1 },
      { resourceVersion: 9, event: undefined, at: 2 },
    ]
    expect(selectReady(items, new Set(), 10)).toMatchObject({ checkpoint: 9, waiting: [] })
  })
})

describe('an event during an unanswered write of its object', () => {
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

  it('names the run of that write; other, earlier and later events do not', () => {
    const items = [came('a', 99), came('a', 100), came('b', 100), came('a', 1100), came('a', 1101)]
    expect(told(items)).toEqual([undefined, 'run', undefined, 'run', undefined])
  })
})

describe('a full queue', () => {
  it('blocks further events until an event leaves or the signal is aborted', async () => {
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

  it('reports the age of its oldest item', async () => {
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

const NOW = Date.parse('2030-01-01T00:00:10.500Z')
const at = (second: number) => `2030-01-01T00:00:${String(second).padStart(2, '0')}Z`
const object = (managers: Readonly<Record<string, number>>, deletedAt?: number) => ({
  metadata: {
    name: 'a',
    managedFields: Object.entries(managers).map(([manager, second]) => ({ manager, time: at(second) })),
    ...(deletedAt !== undefined && { deletionTimestamp: at(deletedAt) }),
  },
})

describe('an event that looks like an own write', () => {
  it.each([
    ['when a controller of ours was the last to write', { kubectl: 5, 'pawl-widget': 10 }],
    ['when it wrote in the same second as another', { kubectl: 10, 'pawl-widget': 10 }],
  ])('%s', (_, managers) => {
    expect(looksLikeOwnWrite(object(managers), NOW)).toBe(true)
  })

  it.each([
    ['when another wrote later', object({ 'pawl-widget': 9, kubectl: 10 })],
    ['when that is long ago: labels of others, or a deletion, need not show', object({ kubectl: 1, 'pawl-widget': 8 })],
    ['when it was deleted since, or in that second', object({ 'pawl-widget': 10 }, 10)],
    ['when nothing is said of its writers', { metadata: { name: 'a' } }],
  ])('not %s', (_, seen) => {
    expect(looksLikeOwnWrite(seen, NOW)).toBe(false)
  })

  it('may be newer than the deletion of its object', () => {
    expect(looksLikeOwnWrite(object({ 'pawl-widget': 10 }, 9), NOW)).toBe(true)
  })
})
