// The queue of watch events that are not journaled yet, in the order of the stream.
//
//   Q1. `add` waits while the queue is full: further events stay in the connection (back-pressure).
//   Q2. An event on a held object waits, and so do all later events on that object; events on other objects pass.
//   Q3. A checkpoint never passes an event that waits: after a crash the watch resumes before that event.
//   Q4. An event during a write that was never answered names the run of that write, which has crashed. This is for display only: the event may have
//       another author, so it is handled like a foreign event.

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
  /** The time of arrival, in milliseconds. */
  readonly at: number
}

export interface ReadyBatch {
  readonly events: readonly ObjectEvent[]
  /** All versions up to this one are in this batch or in the journal; undefined: no progress (Q3). */
  readonly checkpoint: number | undefined
  readonly waiting: readonly PendingItem[]
}

/** Splits the queue into events that can be journaled now and events that wait (Q2, Q3). */
export function selectReady(items: readonly PendingItem[], held: ReadonlySet<string>, limit: number): ReadyBatch {
  const heldObjects = new Set(held)
  const events: ObjectEvent[] = []
  const waiting: PendingItem[] = []
  let checkpoint: number | undefined
  for (const item of items) {
    const { event, resourceVersion } = item
    if (event !== undefined && (events.length >= limit || heldObjects.has(objectKey(event)))) {
      heldObjects.add(objectKey(event))
      waiting.push(item)
      continue
    }
    if (event !== undefined) events.push(event)
    if (waiting.length === 0) checkpoint = resourceVersion
  }
  return { events, checkpoint, waiting }
}

/** The runs that may have caused these events, by workflow ID (Q4). @param holdMs how long a write without an answer holds its object. */
export function writersOfUnansweredWrites(
  items: readonly PendingItem[],
  unanswered: readonly UnansweredWrite[],
  holdMs: number,
): ReadonlyMap<ObjectEvent, string> {
  const writers = new Map<ObjectEvent, string>()
  if (unanswered.length === 0) return writers
  for (const { event, at } of items) {
    if (event === undefined) continue
    const key = objectKey(event)
    const write = unanswered.find(({ object, begunAt }) => object === key && begunAt <= at && at <= begunAt + holdMs)
    if (write !== undefined) writers.set(event, write.writer)
  }
  return writers
}

/** The object's key in the journal's action rows. */
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
  /** The arrival of the oldest item, for health checks. */
  #oldestAt: number | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  get items(): readonly PendingItem[] {
    return this.#items
  }

  /** The age of the oldest item. */
  ageMs(now: number): number {
    return this.#oldestAt === undefined ? 0 : now - this.#oldestAt
  }

  /** Adds an item as soon as the queue has room (Q1). */
  async add(item: Omit<PendingItem, 'at'>, now: number, signal: AbortSignal): Promise<void> {
    while (this.#items.length >= this.#limit) await this.waitForChange(signal)
    this.#items.push({ ...item, at: now })
    this.#oldestAt ??= now
    this.#announce()
  }

  /** Replaces the first `count` items, which were examined, by the items among them that still wait; items that arrived meanwhile follow. */
  replaceFirst(count: number, waiting: readonly PendingItem[], now: number): void {
    this.#items = [...waiting, ...this.#items.slice(count)]
    if (this.#items.length === 0) this.#oldestAt = undefined
    else if (waiting.length === 0) this.#oldestAt = now
    this.#announce()
  }

  /** Resolves when the queue is empty. */
  async waitUntilEmpty(signal: AbortSignal): Promise<void> {
    while (this.#items.length > 0) await this.waitForChange(signal)
  }

  /** Resolves at the next change. @throws the signal's reason. */
  async waitForChange(signal: AbortSignal): Promise<void> {
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

// Recognizes events that are probably own writes of runs. They may be delayed, so that one query covers several of them; other events are not delayed. The
// managed fields (in seconds, by the server's clock) allow only a guess: a wrong guess costs the delay, or one statement.

const RECENT_MS = 2000

/** @param now in milliseconds. */
export function looksLikeOwnWrite({ metadata }: KubeObject, now: number): boolean {
  const { managedFields = [], deletionTimestamp } = metadata
  const times = managedFields.map(({ manager = '', time = '' }) => ({
    isOwn: manager.startsWith(FIELD_MANAGER_PREFIX),
    at: Date.parse(time),
  }))
  const newest = Math.max(...times.map(({ at }) => at))
  const isAfterDeletion = deletionTimestamp === undefined || newest > Date.parse(deletionTimestamp)
  return newest > now - RECENT_MS && isAfterDeletion && times.some(({ isOwn, at }) => isOwn && at === newest)
}

/** Whether one of these events must not be delayed. */
export function isUrgent(items: readonly PendingItem[], now: number): boolean {
  return items.some(({ event }) => event !== undefined && !looksLikeOwnWrite(event.object, now))
}
