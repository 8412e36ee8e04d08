// An Event as the engine tells it, as what the wing makes texts of.

import type { NotifiedEvent } from '../../run/notifier.ts'
import type { Occurrence } from '../../../workflows/chaos/notification.ts'

export function occurrenceOf({ subject, type, reason, message, at, object }: NotifiedEvent): Occurrence {
  const { kind, namespace, name, uid } = subject
  return { kind, namespace, name, uid, type, reason, message, atMs: at.getTime(), object }
}
