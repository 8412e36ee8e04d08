// What was read from the watch and is not yet journaled, in the order of the stream.
//
//   Q1. Whoever adds waits while the queue is full: the rest stays in the connection.
//   Q2. An event on a held object waits, and with it every later event on that object; others pass it.
//   Q3. A checkpoint never passes an event that waits: after a crash the watch resumes before it.
//   Q4. What came while a write of its object was on its way, and that write was never answered for, is told of the run that wrote: it has died.
//       For people only. It may have been somebody else's all the same, so what follows is as of anybody's event.

import { EventEmitter, once } from 'node:events'

import type { ReceivedVersion, UnansweredWrite } from '../../activities/journal/read/received-events.ts'
import { objectText } from '../../activities/journal/write/actions.ts'
import type { ObjectEvent } from '../../activities/journal/write/incoming-events.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { FIELD_MANAGER_PREFIX } from '../../activities/kube/managed-fields.ts'

export interface PendingItem {
  readonly resourceVersion: number
  /** Undefined: a bookmark. */
  readonly event: ObjectEvent | undefined
  /** When it came, in milliseconds. */
  readonly at: number
}

export interface ReadyBatch {
  readonly events: readonly ObjectEvent[]
  /** Everything up to this version is in this batch or journaled; undefined: no further than before (Q3). */
  readonly checkpoint: number | undefined
  readonly rest: readonly PendingItem[]
}

/** Splits the queue into what may be journaled now and what waits (Q2, Q3). */
export function selectReady(items: readonly PendingItem[], held: ReadonlySet<string>, limit: number): ReadyBatch {
  const waiting = new Set(held)
  const events: ObjectEvent[] = []
  const rest: PendingItem[] = []
  let checkpoint: number | undefined
  for (const item of items) {
    const { event, resourceVersion } = item
    if (event !== undefined && (events.length >= limit || waiting.has(objectKey(event)))) {
      waiting.add(objectKey(event))
      rest.push(item)
      continue
    }
    if (event !== undefined) events.push(event)
    if (rest.length === 0) checkpoint = resourceVersion
  }
  return { events, checkpoint, rest }
}

/** The runs whose writes these events may be, by workflow ID (Q4). @param holdMs how long a write without an answer holds its object. */
export function writersOf(
  items: readonly PendingItem[],
  unanswered: readonly UnansweredWrite[],
  holdMs: number,
): ReadonlyMap<ObjectEvent, string> {
  const found = new Map<ObjectEvent, string>()
  if (unanswered.length === 0) return found
  for (const { event, at } of items) {
    if (event === undefined) continue
    const key = objectKey(event)
    const write = unanswered.find(({ object, begunAt }) => object === key && begunAt <= at && at <= begunAt + holdMs)
    if (write !== undefined) found.set(event, write.writer)
  }
  return found
}

/** As the journal's action rows name an object. */
export function objectKey({ watched, object }: ObjectEvent): string {
  return objectText(watched, object.metadata.namespace ?? '', object.metadata.name)
}

export function versionOf({ type, object: { metadata } }: ObjectEvent): ReceivedVersion {
  return { uid: metadata.uid ?? '', version: Number(metadata.resourceVersion), gone: type === 'DELETED' }
}

export class PendingQueue {
  #items: PendingItem[] = []
  readonly #limit: number
  readonly #changes = new EventEmitter()
  /** When the oldest item came; for health. */
  #oldestAt: number | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  get items(): readonly PendingItem[] {
    return this.#items
  }

  /** How long the oldest item has been waiting. */
  ageMs(now: number): number {
    return this.#oldestAt === undefined ? 0 : now - this.#oldestAt
  }

  /** Adds an item, when there is room (Q1). */
  async add(item: Omit<PendingItem, 'at'>, now: number, signal: AbortSignal): Promise<void> {
    while (this.#items.length >= this.#limit) await this.change(signal)
    this.#items.push({ ...item, at: now })
    this.#oldestAt ??= now
    this.#announce()
  }

  /** The first `count` items were looked at: `rest` of them stays, those that came meanwhile follow. */
  replaceFirst(count: number, rest: readonly PendingItem[], now: number): void {
    this.#items = [...rest, ...this.#items.slice(count)]
    this.#oldestAt = this.#items.length === 0 ? undefined : rest.length > 0 ? this.#oldestAt : now
    this.#announce()
  }

  /** Resolves when the queue is empty. */
  async drained(signal: AbortSignal): Promise<void> {
    while (this.#items.length > 0) await this.change(signal)
  }

  /** Resolves at the next change. @throws the signal's reason. */
  async change(signal: AbortSignal): Promise<void> {
    try {
      await once(this.#changes, 'change', { signal })
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }

  #announce(): void {
    this.#changes.emit('change')
  }
}

// Which events look like what runs have written themselves a moment ago. They may wait, so that several are asked about at once; what anybody else
// did passes at once. A guess from what the object says of its writers (seconds, by the server's clock): a wrong one costs the window, or a
// statement.

const RECENT_MS = 2000

/** @param now in milliseconds. */
export function looksOwn({ metadata }: KubeObject, now: number): boolean {
  const { managedFields = [], deletionTimestamp } = metadata
  const times = managedFields.map(({ manager = '', time = '' }) => ({
    isOwn: manager.startsWith(FIELD_MANAGER_PREFIX),
    at: Date.parse(time),
  }))
  const newest = Math.max(...times.map(({ at }) => at))
  const isAfterDeletion = deletionTimestamp === undefined || newest > Date.parse(deletionTimestamp)
  return newest > now - RECENT_MS && isAfterDeletion && times.some(({ isOwn, at }) => isOwn && at === newest)
}

/** Whether something of it should not wait. */
export function isUrgent(items: readonly PendingItem[], now: number): boolean {
  return items.some(({ event }) => event !== undefined && !looksOwn(event.object, now))
}
