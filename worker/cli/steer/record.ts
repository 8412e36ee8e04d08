// Who asked for what, and why, where others see it: an annotation of the object, and an Event on it. Both are written with the rights of the person,
// and whoever has such rights could write the same; what the API server knows of it is in its audit log.

import { randomBytes } from 'node:crypto'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isConflict, KubeError } from '../../../activities/kube/kube-error.ts'
import { PERSON_AGENT } from '../user.ts'
import { readObject, type Steered } from './open-object.ts'

/** What the annotation says. */
export function recordText({ who, why }: Pick<Steered, 'who' | 'why'>, what: string, now: Date): string {
  return JSON.stringify({ what, by: who, at: now.toISOString(), ...(why !== undefined && { why }) })
}

const MOST_TRIES = 5

/**
 * Sets annotations of the object and those that say who and why, on the version that was looked at.
 *
 * @param annotationsOf what to set (null: to take off), by the object as it is; thrown errors end it. Undefined: nothing is to be done.
 */
export async function annotate(
  steered: Steered,
  what: string,
  annotationsOf: (object: KubeObject) => Readonly<Record<string, string | null>> | undefined,
): Promise<'asked' | 'asked before'> {
  const { kube, kind, namespace, name } = steered
  for (let tries = 1, object: KubeObject | undefined = steered.object; object !== undefined; tries++) {
    const wanted = annotationsOf(object)
    if (wanted === undefined) return 'asked before'
    const { uid, resourceVersion } = object.metadata
    const annotations = { ...wanted, [kind.steering.auditAnnotation]: recordText(steered, what, new Date()) }
    try {
      await kube.request('PATCH', resourcePath(kind.api, namespace, name), {
        body: { metadata: { uid, resourceVersion, annotations } },
        contentType: 'application/merge-patch+json',
        query: { fieldManager: PERSON_AGENT },
      })
      return 'asked'
    } catch (error) {
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
    object = await readObject(kube, kind, namespace, name)
    if (object?.metadata.uid !== steered.object.metadata.uid) break
  }
  throw new Error(`${kind.kind} ${namespace}/${name} is gone meanwhile, expected one that is there`)
}

const MESSAGE_LIMIT = 1024

/** An Event on the object. @throws where the person may not write it. */
export async function tellEvent(
  { kube, kind, namespace, name, object, who, why }: Steered,
  reason: string,
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
      reason,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      metadata: { name: `${begin}.${randomBytes(8).toString('hex')}`, namespace },
      involvedObject: { apiVersion: kind.api.apiVersion, kind: kind.kind, namespace, name, uid },
      message: `${who} ${what}${why === undefined ? '' : `: ${why}`}`.slice(0, MESSAGE_LIMIT),
      source: { component: PERSON_AGENT },
    },
  })
}

/** The same, where what is done needs no witness: that it could not be written is told. */
export async function tryToTell(steered: Steered, reason: string, what: string): Promise<void> {
  await tellEvent(steered, reason, what).catch((error: unknown) => {
    if (!(error instanceof KubeError)) throw error
    process.stderr.write(`pawl: no Event says so: ${error.message}\n`)
  })
}
