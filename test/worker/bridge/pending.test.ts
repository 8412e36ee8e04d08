import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { ObjectEvent } from '../../../activities/journal/write/incoming-events.ts'
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
const versionOf = ({ object }: ObjectEvent): number => Number(object.metadata.resourceVersion)
const versions = (items: readonly PendingItem[]): number[] =>
  items.flatMap(({ event }) => (event ? versionOf(event) : []))

describe('selecting the events to journal', () => {
  it('loses, duplicates and reorders no event of an object, holds back held objects, and keeps checkpoint and limit', () => {
    fc.assert(
      fc.property(streams, holds, limits, (items, held, limit) => {
        const { events, checkpoint = 0, waiting } = selectReady(items, held, limit)
        expect(events.length).toBeLessThanOrEqual(limit)
        expect(events.some((event) => held.has(objectKey(event)))).toBe(false)
        // The checkpoint never moves past a waiting event.
        expect(versions(waiting).every((version) => version > checkpoint)).toBe(true)
        const after = [...events, ...waiting.flatMap(({ event }) => event ?? [])]
        expect(after.map(versionOf).sort()).toEqual(versions(items))
        for (const name of NAMES) {
          const own = after.filter((event) => objectKey(event) === key(name)).map(versionOf)
          expect(own).toEqual(own.toSorted())
        }
      }),
    )
  })

  it('selects all events and the last bookmark if no object is held', () => {
    const items: PendingItem[] = [
      { resourceVersion: 5, event: seen('ADDED', { version: 5 }), at: 1 },
      { resourceVersion: 9, event: undefined, at: 2 },
    ]
    expect(selectReady(items, new Set(), 10)).toMatchObject({ events: [items[0]?.event], checkpoint: 9, waiting: [] })
  })
})

describe('an event during an unanswered write of its object', () => {
  it('names the run of that write; other, earlier and later events do not', () => {
    const items = (
      [
        ['a', 99],
        ['a', 100],
        ['b', 100],
        ['a', 1100],
        ['a', 1101],
      ] as const
    ).map(([uid, at]) => {
      return { resourceVersion: at, event: seen('MODIFIED', { uid, version: at }), at }
    })
    const write = { object: key('a'), writer: 'run', begunAt: 100 }
    const writers = writersOfUnansweredWrites(items, [write], 1000)
    expect(items.map(({ event }) => writers.get(event))).toEqual([undefined, 'run', undefined, 'run', undefined])
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
    ['when a controller of ours was the last to write', object({ kubectl: 5, 'pawl-widget': 10 }), true],
    ['when it wrote in the same second as another', object({ kubectl: 10, 'pawl-widget': 10 }), true],
    ['when it wrote after the deletion of the object', object({ 'pawl-widget': 10 }, 9), true],
    ['not when another wrote later', object({ 'pawl-widget': 9, kubectl: 10 }), false],
    // Labels of others, or a deletion, need not show.
    ['not when that is long ago', object({ kubectl: 1, 'pawl-widget': 8 }), false],
    ['not when it was deleted in that second', object({ 'pawl-widget': 10 }, 10), false],
    ['not when nothing is said of its writers', { metadata: { name: 'a' } }, false],
  ])('is recognized: %s', (_, seen, expected) => {
    expect(looksLikeOwnWrite(seen, NOW)).toBe(expected)
  })
})
