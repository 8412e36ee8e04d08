// `pawl delete --force`: removes all finalizers from an object and from all objects below it.
//
//   F1. An Event on the object reports the user and the reason before anything else happens. If the Event cannot be
//       written, the command does nothing.
//   F2. All objects are deleted, from the root down, before any finalizer is removed. Otherwise a run of a parent would
//       recreate its children.
//   F3. A finalizer is removed only from the version of the object that was read.

import type { KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { isConflict, isNotFound } from '../../../activities/kube/kube-error.ts'
import { quotedName } from '../query/format.ts'
import { CLI_USER_AGENT } from '../user.ts'
import { type LiveNode, readTree, childrenFirst } from './live-tree.ts'
import { readObject, type TargetObject } from './open-object.ts'
import { recordText, emitEvent } from './record.ts'

/** Further rounds handle objects that a running job created meanwhile. */
const MOST_ROUNDS = 3
const MOST_TRIES = 5

/** @returns one line per object with the removed finalizers. */
export async function forceDeletion(target: TargetObject): Promise<readonly string[]> {
  const { kube, kind, kinds } = target
  await emitEvent(target, 'DeletionForced', 'removes all finalizers of the object and of all objects below it') // F1
  const lines: string[] = []
  let root: KubeObject | undefined = target.object
  for (let round = 0; round < MOST_ROUNDS && root !== undefined; round++) {
    const nodes = childrenFirst(await readTree(kube, { kind, object: root }, kinds))
    for (const node of nodes.toReversed()) await deleteOne(target, node) // F2
    for (const node of nodes) {
      const removed = await removeFinalizers(target, node)
      if (removed.length > 0) lines.push(`${titleOf(node)}: removed finalizer ${removed.join(', ')}`)
    }
    const present = await readObject(kube, kind, target.namespace, target.name)
    root = present?.metadata.uid === target.object.metadata.uid ? present : undefined
  }
  return lines
}

function titleOf({ kind, object: { metadata } }: LiveNode): string {
  return quotedName({ kind: kind.kind, namespace: metadata.namespace ?? '', name: metadata.name })
}

async function deleteOne({ kube }: TargetObject, { kind, object: { metadata } }: LiveNode): Promise<void> {
  if (metadata.deletionTimestamp !== undefined) return
  const { uid, namespace, name } = metadata
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' }
  await kube.request('DELETE', resourcePath(kind.api, namespace, name), { body }).catch((error: unknown) => {
    // Another object of the same name exists now.
    if (!isNotFound(error) && !isConflict(error)) throw error
  })
}

/** @returns the removed finalizers; empty if the object is gone. */
async function removeFinalizers(target: TargetObject, { kind, object }: LiveNode): Promise<readonly string[]> {
  const { kube, namespace } = target
  const { uid, name } = object.metadata
  for (let tries = 1; ; tries++) {
    const present = await readObject(kube, kind, namespace, name)
    const { finalizers = [], resourceVersion } = present?.metadata ?? {}
    if (present?.metadata.uid !== uid || finalizers.length === 0) return []
    const annotations = { [kind.steering.auditAnnotation]: recordText(target, 'force the deletion', new Date()) }
    try {
      await kube.request('PATCH', resourcePath(kind.api, namespace, name), {
        body: { metadata: { uid, resourceVersion, finalizers: null, annotations } }, // F3
        contentType: 'application/merge-patch+json',
        query: { fieldManager: CLI_USER_AGENT },
      })
      return finalizers
    } catch (error) {
      if (isNotFound(error)) return []
      if (!isConflict(error) || tries === MOST_TRIES) throw error
    }
  }
}
