// Emits a Kubernetes Event about the target of a pass, or about another object.

import type { EventInput, ObservedObject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { type Involved, writeEvent } from '../../kube/events.ts'
import { fieldManagerOf } from '../../kube/managed-fields.ts'
import { controllerOf } from '../controllers.ts'
import { startNotifications } from './notifications.ts'

/**
 * Records the Event once per occasion: passes emit the same Event repeatedly, and runs follow each other. The API server deletes it after an hour.
 * Notifiers of the wing get the Events about the target.
 */
export async function emitEvent(
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
  if (about === undefined) await startNotifications(deps, { by, subject, target, event, identity })
}

function involvedIn({ apiVersion, kind, metadata }: ObservedObject): Involved {
  const { name, namespace = '', uid } = metadata
  return { apiVersion, kind, namespace, name, uid }
}
