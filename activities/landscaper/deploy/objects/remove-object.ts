// One step of removing one object from the target. Source: spec/landscaper.md 4.4, 4.2 "policy".
//
//   R1. Only objects of this item are deleted: the label names the item, or the uid is the recorded one and no other item owns the object.
//   R2. An object that was never known to exist, whose creation the server has rejected, and that cannot be read, counts as missing.
//   R3. A delete has the uid of the object that was read.

import type { KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isConflict, isNotFound, KubeError } from '../../../kube/errors.ts'
import { shortenText } from '../run/deploy-errors.ts'
import { objectOf } from '../target/answers.ts'
import { describeObject, readServed } from '../target/read-object.ts'
import type { ServedKind, TargetCluster } from '../target/target-cluster.ts'
import { type TargetWriter, write } from './apply-object.ts'
import type { ItemLabels } from './ownership-labels.ts'
import { patchChange } from './changes.ts'
import { isMap, type Json } from './config-reader.ts'
import type { ManagedResource } from './managed-resources.ts'

export interface ObjectRemoval {
  readonly target: TargetCluster
  /** Undefined: the cluster does not serve its kind. */
  readonly served: ServedKind | undefined
  readonly managed: ManagedResource
  readonly mark: ItemLabels
  /** The object is deleted whoever owns it. */
  readonly isAnyones: boolean
  readonly forceDelete: boolean
  readonly signal: AbortSignal
}

/** @returns the reason to wait; undefined when the object is gone, or the item must not delete it. @throws KubeError, DeployError */
export async function removeObject(removal: ObjectRemoval): Promise<string | undefined> {
  const { target, served, managed, mark, isAnyones, signal } = removal
  if (served === undefined) return undefined
  const { name, namespace } = managed.resource
  const live = await readKnown({ ...removal, served })
  if (live === undefined || !isToDelete(managed, live, isAnyones ? undefined : mark)) return undefined
  const path = resourcePath(served, served.namespaced ? namespace : undefined, name)
  try {
    return await removeLive({ kube: target.kube, ownership: mark.ownership, path, signal }, live, {
      ...removal,
      served,
    })
  } catch (error) {
    if (isNotFound(error)) return undefined
    if (isConflict(error)) return `${describeObject(managed.resource)} changed during its removal`
    throw error
  }
}

type Served = ObjectRemoval & { readonly served: ServedKind }

async function readKnown({ target, served, managed, signal }: Served): Promise<KubeObject | undefined> {
  const { name, namespace, uid } = managed.resource
  try {
    return await readServed(target, { served, name, namespace, signal })
  } catch (error) {
    if (uid === undefined && managed.refused === true && error instanceof KubeError && error.status === 403)
      return undefined
    throw error
  }
}

async function removeLive(
  request: Request,
  live: KubeObject,
  { target, served, managed, forceDelete }: Served,
): Promise<string | undefined> {
  if (live.metadata.deletionTimestamp === undefined) {
    const isGone = await deleted(request, await prepared(request, live, managed))
    if (isGone) return undefined
  }
  if (forceDelete) await stripFinalizers(request)
  const { name, namespace } = managed.resource
  const left = await readServed(target, { served, name, namespace, signal: request.signal })
  return left?.metadata.uid === live.metadata.uid && left !== undefined ? whatHolds(managed, left) : undefined
}

/** Whether policy, label and uid allow the deletion; without a mark the owner is not checked. */
export function isToDelete(
  { policy, resource }: ManagedResource,
  live: KubeObject,
  mark: ItemLabels | undefined,
): boolean {
  if (policy === 'keep' || policy === 'ignore') return false
  if (mark === undefined) return true
  const owner = live.metadata.labels?.[mark.ownership.label]
  if (owner !== undefined || policy === 'fallback') return owner === mark.item
  return resource.uid === live.metadata.uid
}

interface Request extends TargetWriter {
  readonly path: string
}

async function prepared(request: Request, live: KubeObject, managed: ManagedResource): Promise<KubeObject> {
  const { annotateBeforeDelete, patchBeforeDelete = {} } = managed
  const annotated =
    annotateBeforeDelete === undefined
      ? live
      : ((await changed(request, live, annotations(annotateBeforeDelete))) ?? live)
  return (await changed(request, annotated, patchBeforeDelete)) ?? annotated
}

const annotations = (texts: Readonly<Record<string, string>>): Json => ({ metadata: { annotations: texts } })

async function changed(request: Request, live: KubeObject, patch: Json): Promise<KubeObject | undefined> {
  const change = patchChange(live, patch)
  return change === undefined ? undefined : await write(request, request.path, change)
}

/** @returns whether the object is gone with the answer. */
async function deleted({ kube, path, signal }: Request, { metadata }: KubeObject): Promise<boolean> {
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: 'Background',
    preconditions: { uid: metadata.uid },
  }
  const answer = await kube.request<{ kind?: string }>('DELETE', path, { body, signal })
  // Some kinds answer with the object although it is gone; these are read again.
  return answer.kind === 'Status'
}

async function stripFinalizers({ kube, ownership, path, signal }: Request): Promise<void> {
  const live = objectOf(await kube.request<unknown>('GET', path, { signal }), ['GET', path])
  const { finalizers = [], deletionTimestamp, uid, resourceVersion } = live.metadata
  if (deletionTimestamp === undefined || finalizers.length === 0) return
  await kube.request('PATCH', path, {
    body: { metadata: { finalizers: null, uid, resourceVersion } },
    contentType: 'application/merge-patch+json',
    query: { fieldManager: ownership.fieldManager },
    signal,
  })
}

/** Describes the finalizers or, for a namespace, the contents that keep the object. */
function whatHolds({ resource }: ManagedResource, live: KubeObject): string {
  const { finalizers = [] } = live.metadata
  const spec = isMap(live['spec']) ? live['spec'] : {}
  const ofSpec =
    resource.kind === 'Namespace' && Array.isArray(spec['finalizers']) ? spec['finalizers'].map(String) : []
  const all = [...finalizers, ...ofSpec]
  const names = shortenText(all.join(', '))
  const held =
    all.length === 0
      ? 'is being deleted'
      : `is being deleted and has ${all.length === 1 ? 'the finalizer' : 'the finalizers'} ${names}`
  return [`${describeObject(resource)} ${held}`, ...(resource.kind === 'Namespace' ? remaining(live) : [])].join(': ')
}

const REMAINING = new Set([
  'NamespaceContentRemaining',
  'NamespaceFinalizersRemaining',
  'NamespaceDeletionDiscoveryFailure',
])

function remaining({ status }: KubeObject): string[] {
  const conditions: unknown = isMap(status) ? status['conditions'] : undefined
  if (!Array.isArray(conditions)) return []
  return conditions
    .filter(isMap)
    .filter(({ type, status: is }) => is === 'True' && REMAINING.has(String(type)))
    .map(({ message }) => String(message).slice(0, 300))
}
