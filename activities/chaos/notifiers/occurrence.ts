// Converts an Event of the engine to the input of the notification texts.

import type { NotifiedEvent } from '../../run/notifier.ts'
import type { Occurrence } from '../../../workflows/chaos/notification.ts'

export function occurrenceOf({ subject, type, reason, message, at, object }: NotifiedEvent): Occurrence {
  const { kind, namespace, name, uid } = subject
  return { kind, namespace, name, uid, type, reason, message, atMs: at.getTime(), object }
}
