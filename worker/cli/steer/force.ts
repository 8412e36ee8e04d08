// The last way out of a deletion: all finalizers are taken off, of an object and of all below it.
//
//   F1. An Event on the object says who does it and why before anything is done; where it cannot be written, nothing is done.
//   F2. Everything is deleted before anything loses a finalizer, from above: what goes on above would make anew what goes below.
//   F3. A finalizer is taken off the object that was looked at, in the version that was looked at, and of no other.

import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isConflict, isNotFound } from '../../../activities/kube/kube-error.ts'
import { nameOf } from '../query/format.ts'
import { PERSON_AGENT } from '../user.ts'
import { type LiveNode, readTree, upwards } from './live-tree.ts'
import { readObject, type Steered } from './open-object.ts'
import { recordText, tellEvent } from './record.ts'

/** What a run that went on meanwhile has made is taken as well. */
const MOST_ROUNDS = 3
const MOST_TRIES = 5

/** @returns what was taken off, a line for each object. */
export async function forceOff(steered: Steered): Promise<readonly string[]> {
  const { kube, kind, kinds } = steered
  await tellEvent(steered, 'DeletionForced', 'takes all finalizers off, of the object and of all below it') // F1
  const told: string[] = []
  let root: KubeObject | undefined = steered.object
  for (let round = 0; round < MOST_ROUNDS && root !== undefined; round++) {
    const nodes = upwards(await readTree(kube, { kind, object: root }, kinds))
    for (const node of nodes.toReversed()) await deleteOne(steered, node) // F2
    for (const node of nodes) {
      const taken = await release(steered, node)
      if (taken.length > 0) told.push(`${titleOf(node)} lost ${taken.join(', ')}`)
    }
    const present = await readObject(kube, kind, steered.namespace, steered.name)
    root = present?.metadata.uid === steered.object.metadata.uid ? present : undefined
  }
  return told
}

function titleOf({ kind, object: { metadata } }: LiveNode): string {
  return nameOf({ kind: kind.kind, namespace: metadata.namespace ?? '', name: metadata.name })
}

async function deleteOne({ kube }: Steered, { kind, object: { metadata } }: LiveNode): Promise<void> {
  if (metadata.deletionTimestamp !== undefined) return
  const { uid, namespace, name } = metadata
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' }
  await kube.request('DELETE', resourcePath(kind.api, namespace, name), { body }).catch((error: unknown) => {
    // Another one of the name is not meant.
    if (!isNotFound(error) && !isConflict(error)) throw error
  })
}

/** @returns the finalizers that it had; none: it is gone. */
async function release(steered: Steered, { kind, object }: LiveNode): Promise<readonly string[]> {
  const { kube, namespace } = steered
  const { uid, name } = object.metadata
  for (let tries = 1; ; tries++) {
    const present = await readObject(kube, kind, namespace, name)
    const { finalizers = [], resourceVersion } = present?.metadata ?? {}
    if (present?.metadata.uid !== uid || finalizers.length === 0) return []
    const annotations = { [kind.steering.auditAnnotation]: recordText(steered, 'force the deletion', new Date()) }
    try {
      await kube.request('PATCH', resourcePath(kind.api, namespace, name), {
        body: { metadata: { uid, resourceVersion, finalizers: null, annotations } }, // F3
        contentType: 'application/merge-patch+json',
        query: { fieldManager: PERSON_AGENT },
      })
      return finalizers
    } catch (error) {
      if (isNotFound(error)) return []
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}
