// What an action tells the users of its target: an Event that `kubectl describe` shows.

import type { EventInput, ObservedObject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { type Involved, writeEvent } from '../../kube/events.ts'
import { fieldManagerOf } from '../../kube/field-manager.ts'
import { controllerOf } from '../controllers.ts'
import { notify } from './notices.ts'

/**
 * Records the event, once for each occasion: passes repeat what they say, and runs follow each other. The server forgets it after an hour. Whom the
 * controller's wing tells of it is told of what is about the target.
 */
export async function tell(
  deps: Deps,
  { by, subject, target, event, source = fieldManagerOf(by) }: EventInput,
): Promise<void> {
  const { type, reason, message, occasion = '', about, annotations } = event
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
  const answer = await writeEvent(deps, involved, { type, reason, message, source, identity, annotations })
  const controller = controllerOf(by)
  const { namespace, name } = subject
  if (answer === 'recorded') deps.observerOf?.(controller)?.eventRecorded?.({ controller, namespace, name, reason })
  if (about === undefined) await notify(deps, { by, subject, target, event, identity })
}

function involvedIn({ apiVersion, kind, metadata }: ObservedObject): Involved {
  const { name, namespace = '', uid } = metadata
  return { apiVersion, kind, namespace, name, uid }
}
