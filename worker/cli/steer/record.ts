// Records who requested what and why: in an annotation of the object and in an Event. Both are written with the user's
// permissions, so other users with these permissions could forge them; the API server's audit log cannot be forged.

import { randomBytes } from 'node:crypto'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isConflict, KubeError } from '../../../activities/kube/kube-error.ts'
import { CLI_USER_AGENT } from '../user.ts'
import { readObject, titleOf, type TargetObject } from './open-object.ts'

/** The value of the annotation. */
export function recordText(
  { user: user, reason: reason }: Pick<TargetObject, 'user' | 'reason'>,
  what: string,
  now: Date,
): string {
  return JSON.stringify({ what, by: user, at: now.toISOString(), ...(reason !== undefined && { why: reason }) })
}

const MOST_TRIES = 5

/**
 * Sets annotations on the version of the object that was read, together with the record of user and reason.
 *
 * @param annotationsOf returns the annotations for the current object (null removes one), or undefined if nothing needs
 * to change; its errors are thrown.
 */
export async function annotate(
  target: TargetObject,
  what: string,
  annotationsOf: (object: KubeObject) => Readonly<Record<string, string | null>> | undefined,
): Promise<'asked' | 'asked before'> {
  const { kube, kind, namespace, name } = target
  for (let tries = 1, object: KubeObject | undefined = target.object; object !== undefined; tries++) {
    const values = annotationsOf(object)
    if (values === undefined) return 'asked before'
    const { uid, resourceVersion } = object.metadata
    const annotations = { ...values, [kind.steering.auditAnnotation]: recordText(target, what, new Date()) }
    try {
      await kube.request('PATCH', resourcePath(kind.api, namespace, name), {
        body: { metadata: { uid, resourceVersion, annotations } },
        contentType: 'application/merge-patch+json',
        query: { fieldManager: CLI_USER_AGENT },
      })
      return 'asked'
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
    object = await readObject(kube, kind, namespace, name)
    if (object?.metadata.uid !== target.object.metadata.uid) break
  }
  throw new Error(`${titleOf(target)} was deleted while the command ran`)
}

const MESSAGE_LIMIT = 1024

/** Writes an Event on the object. @throws KubeError if the user may not write Events. */
export async function emitEvent(
  { kube, kind, namespace, name, object, user: user, reason: reason }: TargetObject,
  eventReason: string,
  what: string,
): Promise<void> {
  const at = new Date().toISOString()
  const { uid } = object.metadata
  const begin = name.slice(0, 230).replace(/[^A-Za-z0-9]+$/, '')
  await kube.request('POST', resourcePath({ apiVersion: 'v1', plural: 'events' }, namespace), {
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      type: 'Normal',
      reason: eventReason,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      metadata: { name: `${begin}.${randomBytes(8).toString('hex')}`, namespace },
      involvedObject: { apiVersion: kind.api.apiVersion, kind: kind.kind, namespace, name, uid },
      message: `${user} ${what}${reason === undefined ? '' : `: ${reason}`}`.slice(0, MESSAGE_LIMIT),
      source: { component: CLI_USER_AGENT },
    },
  })
}

/** Writes an Event where the command does not require one; a failure is printed as a warning. */
export async function tryEmitEvent(target: TargetObject, eventReason: string, what: string): Promise<void> {
  await emitEvent(target, eventReason, what).catch((error: unknown) => {
    if (!(error instanceof KubeError)) throw error
    process.stderr.write(`pawl: warning: the Event "${eventReason}" could not be written: ${error.message}\n`)
  })
}
