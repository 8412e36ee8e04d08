// One write of a controller in level mode, under its field manager, and what its failure is about.

import { type By, groupKindOf, type Subject, type WatchedKind } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { subscribe } from '../../journal/write/subscriptions.ts'
import { KubeError } from '../../kube/errors.ts'
import { fieldManagerOf } from '../../kube/field-manager.ts'
import { type Write, type WriteAnswer, writeAll, type Writer } from '../../kube/write.ts'
import { controllerOf } from '../controllers.ts'
import { whileWaitedFor } from './cut-off.ts'

export function writerOf(by: By, step: string): Writer {
  return { ...by, step, fieldManager: fieldManagerOf(by) }
}

/** Nothing is sent for a pass that does not wait for it any more (cut-off.ts). The journal follows, at the latest when the pass settles (ledger.ts). */
export async function send(deps: Deps, writer: Writer, write: Write): Promise<WriteAnswer> {
  const [answer] = await whileWaitedFor((signal) => writeAll(deps, writer, [write], signal))
  return answer ?? { result: 'gone' }
}

/** The same failure with what it is about in front: the path of a create does not tell. */
export function about(where: string, error: KubeError): KubeError {
  const { status, reason, retryAfterMs } = error
  return new KubeError(`${where}: ${error.message}`, { status, reason, retryAfterMs, cause: error })
}

/** Where an object is. */
export interface Place {
  readonly watched: WatchedKind
  readonly namespace: string
  readonly name: string
}

/**
 * Makes changes of an object wake the subject, until its next pass has looked. The caller looks at the object after it.
 *
 * @returns false when nobody follows objects of the kind.
 */
export async function hearOf(
  deps: Deps,
  { by, subject }: { readonly by: Pick<By, 'workflowID'>; readonly subject: Subject },
  { watched, namespace, name }: Place,
): Promise<boolean> {
  if (watched.unfollowed === true) return false
  const whose = { controller: controllerOf(by), uid: subject.uid, job_id: '', cluster: deps.cluster }
  await subscribe(deps.db, { ...whose, ...groupKindOf(watched), namespace, name }, deps.now())
  return true
}
