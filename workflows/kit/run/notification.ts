// Types of notifications: messages to receivers outside of the cluster about an Event that a controller in level mode
// recorded. A run of its own sends each notification, so that neither passes nor other receivers wait. The wing selects
// receivers and payload (activities/wing.ts).
//
//   N1. The ID derives from the Event and the receiver: starting the same notification twice has no effect.
//   N2. A notification is stored in workflow history and contains no secrets. Only the sending activity knows URLs, headers and tokens.
//   N3. Delivery is at least once: a worker that dies after sending leads to a second try with the same ID.

import type { JsonValue } from '../kind/schema.ts'
import type { Subject } from './subject.ts'

/** The workflow type, kept from earlier releases. Controllers cannot have this name. */
export const NOTIFICATION_RUN = 'pawl_notice'

export interface Notification {
  /** N1. Equal in all tries, so that receivers can detect duplicates. */
  readonly id: string
  /** The controller that recorded the Event. */
  readonly controller: string
  /** A notifier of the controller's wing. */
  readonly notifier: string
  /** The receiver's name, for logs and the Temporal UI. */
  readonly receiver: string
  /** The object of the Event. */
  readonly subject: Subject
  readonly apiVersion: string
  /** The Event's reason. */
  readonly reason: string
  /** The message as the notifier formats it. */
  readonly payload: JsonValue
  readonly tries: NotificationTries
}

/** The number of tries, including the first, and the delay before the second try. Each further delay doubles, up to 5 min. */
export interface NotificationTries {
  readonly attempts: number
  readonly retryMs: number
}

/** A notification whose tries all failed. The field name is recorded in histories. */
export interface UnsentNotification {
  readonly notice: Notification
  readonly why: string
}

/** Activities of the notification run; their names are recorded in histories. */
export interface NotificationActivities {
  sendNotice(notice: Notification): Promise<void>
  /** Records an Event on the object: a receiver did not get the notification. */
  tellUnsentNotice(unsent: UnsentNotification): Promise<void>
}
