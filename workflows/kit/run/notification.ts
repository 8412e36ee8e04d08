// What people are told outside of the cluster of an Event that a controller in level mode has recorded: one notice for each receiver, brought by a run of
// its own, so that no pass waits for it and no receiver for another. A wing says who is told what (activities/wing.ts); the engine brings it.
//
//   N1. A notice has one ID, made of what is told and to whom: whoever tells it again starts nothing.
//   N2. What is told stays in a history, so it has no secrets: URLs, headers and tokens are known to the activity that sends it, and to nobody else.
//   N3. It comes at least once: a worker that dies between sending it and saying so leaves it to be sent again, under the same ID.

import type { JsonValue } from '../kind/schema.ts'
import type { Subject } from './subject.ts'

/** The name of the runs that bring notices. No controller can be called so. */
export const NOTIFICATION_RUN = 'pawl_notice'

export interface Notification {
  /** N1. The same in all tries, for receivers that tell repetitions apart. */
  readonly id: string
  /** By whom the Event was recorded. */
  readonly controller: string
  /** Of the controller's wing. */
  readonly notifier: string
  /** Where that brings it to, for people. */
  readonly receiver: string
  /** The object that the Event is about. */
  readonly subject: Subject
  readonly apiVersion: string
  /** Of the Event. */
  readonly reason: string
  /** What the notifier has made of it. */
  readonly payload: JsonValue
  readonly tries: NotificationTries
}

/** How often a notice is tried, the first time included, and how long it waits before the second try; each further wait is twice as long, 5 min at most. */
export interface NotificationTries {
  readonly attempts: number
  readonly retryMs: number
}

/** A notice that was given up. */
export interface UnsentNotification {
  readonly notice: Notification
  readonly why: string
}

/** What the runs call. */
export interface NotificationActivities {
  sendNotice(notice: Notification): Promise<void>
  /** Says on the object that somebody was not told. */
  tellUnsentNotice(unsent: UnsentNotification): Promise<void>
}
