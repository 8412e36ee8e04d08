// What an action tells the users of its target: an Event that `kubectl describe` shows.

import type { EventInput, ObservedObject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { type Involved, recordEvent } from '../../kube/events.ts'
import { fieldManagerOf } from '../../kube/field-manager.ts'

/** Records the event, once for each occasion: passes repeat what they say, and runs follow each other. The server forgets it after an hour. */
export async function tell(deps: Deps, { by, subject, target, event }: EventInput): Promise<void> {
  const { type, reason, message, occasion = '', about } = event
  const source = fieldManagerOf(by)
  const identity = [
    subject.uid,
    source,
    type,
    reason,
    message,
    occasion,
    ...(about === undefined ? [] : [about.metadata.uid]),
  ]
  const involved = about === undefined ? { ...subject, apiVersion: target.apiVersion } : involvedIn(about)
  await recordEvent(deps, involved, { type, reason, message, source, identity })
}

function involvedIn({ apiVersion, kind, metadata }: ObservedObject): Involved {
  const { name, namespace = '', uid } = metadata
  return { apiVersion, kind, namespace, name, uid }
}
