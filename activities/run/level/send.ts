// Sends one write of a controller in level mode under its field manager.

import { type By, groupKindOf, type Subject, type WatchedKind } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { KubeError } from '../../kube/errors.ts'
import { fieldManagerOf } from '../../kube/managed-fields.ts'
import { type Write, type WriteAnswer, writeAll, type Writer } from '../../kube/write.ts'
import { controllerOf } from '../controllers.ts'
import { withinCallDeadline } from './call-deadline.ts'

export function writerOf(by: By, step: string): Writer {
  return { ...by, step, fieldManager: fieldManagerOf(by) }
}

/** Sends nothing after the call's deadline (call-deadline.ts). The write is journaled at the latest when the pass settles (write-buffer.ts). */
export async function send(deps: Deps, writer: Writer, write: Write): Promise<WriteAnswer> {
  const [answer] = await withinCallDeadline((signal) => writeAll(deps, writer, [write], signal))
  return answer ?? { result: 'gone' }
}

/** Adds the object to the message, because the path of a create does not name it. */
export function withObject(where: string, error: KubeError): KubeError {
  const { status, reason, retryAfterMs } = error
  return new KubeError(`${where}: ${error.message}`, { status, reason, retryAfterMs, cause: error })
}

/** Kind, namespace and name of an object. */
export interface Place {
  readonly watched: WatchedKind
  readonly namespace: string
  readonly name: string
}

/**
 * Subscribes the subject to changes of an object until the subject's next pass. The caller reads the object afterwards.
 *
 * @returns false if the bridge does not follow the kind.
 */
export async function subscribeTo(
  deps: Deps,
  { by, subject }: { readonly by: Pick<By, 'workflowID'>; readonly subject: Subject },
  { watched, namespace, name }: Place,
): Promise<boolean> {
  if (watched.unfollowed === true) return false
  const whose = { controller: controllerOf(by), uid: subject.uid, job_id: '', cluster: deps.cluster }
  await subscribe(deps.db, { ...whose, ...groupKindOf(watched), namespace, name }, deps.now())
  return true
}
