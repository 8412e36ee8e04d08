// The interface between the engine and the notifiers of a wing. A notifier chooses the receivers of an Event and sends the notifications that the engine
// hands to it (kit/run/notification.ts).

import type { JsonValue, Notification, NotificationTries, Subject } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'

/** An Event that a controller in level mode has recorded on its subject. */
export interface NotifiedEvent {
  readonly controller: string
  readonly subject: Subject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly at: Date
  /** The subject at the time of the notification; undefined: it does not exist. */
  readonly object: KubeObject | undefined
}

export interface Receiver {
  /** Shown to users; unique within the notifier. */
  readonly name: string
  /** The notification. It enters a workflow history, so it contains no secrets (N2 of kit/run/notification.ts). */
  readonly payload: JsonValue
}

export interface Notifier {
  /** Unique within the wing. */
  readonly name: string
  /** Chooses the receivers of an Event. Pure. */
  receivers(event: NotifiedEvent): readonly Receiver[]
  /** @throws ActivityError with a message without secrets. Every other error is reported as a bug, without its message. */
  send(notification: Notification, signal: AbortSignal): Promise<void>
}

/** The notifiers of a wing. */
export interface Notifiers {
  readonly tries: NotificationTries
  readonly all: readonly Notifier[]
}

/** The worker's notifiers, for the activities that send notifications. */
export interface NotificationSender {
  /** Returns the notifiers of the controller's wing; undefined: the wing has none. */
  of(controller: string): Notifiers | undefined
  /** Starts the workflow that sends the notification, unless a workflow with this ID exists or existed. */
  start(notification: Notification): Promise<void>
  /** IDs of the Events for which this process has recently started notifications: passes report the same Event repeatedly. */
  readonly known: Set<string>
}
