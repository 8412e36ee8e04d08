// What the notifiers of a wing are to the engine: they say who is told of an Event, and send what the engine brings them (kit/run/notice.ts).

import type { JsonValue, Notice, NoticeTries, Subject } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'

/** An Event that a controller in level mode has recorded on its subject. */
export interface ToldEvent {
  readonly controller: string
  readonly subject: Subject
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  readonly at: Date
  /** The subject, as it is when it is told; undefined: it is gone. */
  readonly object: KubeObject | undefined
}

export interface Receiver {
  /** For people, and no other receiver's of this notifier. */
  readonly name: string
  /** What is sent there; it stays in a history, so there are no secrets in it (N2 of kit/run/notice.ts). */
  readonly payload: JsonValue
}

export interface Notifier {
  /** No other notifier's of the wing. */
  readonly name: string
  /** Who is told of it: pure. */
  receivers(told: ToldEvent): readonly Receiver[]
  /** @throws ActivityError with a message that has no secrets; anything else is told as nothing but a bug. */
  send(notice: Notice, signal: AbortSignal): Promise<void>
}

/** Of a wing. */
export interface Notifiers {
  readonly tries: NoticeTries
  readonly all: readonly Notifier[]
}

/** What the worker gives to activities that tell. */
export interface Notices {
  /** Of the wing of a controller; undefined: nobody is told. */
  of(controller: string): Notifiers | undefined
  /** Starts the run that brings it, unless there is, or was, one of the ID. */
  start(notice: Notice): Promise<void>
  /** IDs of Events whose notices were started here lately: passes repeat what they say. */
  readonly known: Set<string>
}
