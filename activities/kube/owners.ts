// Owner references: the form that controllers write, and the check whether an owner controls an object. Source:
// docs/concepts/architecture.md "Namespaces are boundaries".

import { groupKindOf, isChildOf, type WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject, OwnerReference } from './client.ts'

type OwnerKind = Pick<WatchedKind, 'apiVersion' | 'kind'>

/** A controlling owner reference; a foreground deletion of the owner waits for the object. */
export function ownerReference({ apiVersion, kind }: OwnerKind, { name, uid }: OwnerName): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

interface OwnerName {
  readonly name: string
  readonly uid: string
}

/**
 * Whether this owner controls the object (kit/run/owners.ts). A cluster-scoped owner may own objects in any namespace.
 */
export function isOwnedBy(
  object: Pick<KubeObject, 'metadata'>,
  kind: OwnerKind,
  { uid, namespace, name }: OwnerName & { readonly namespace: string },
): boolean {
  return isChildOf(object, { ...groupKindOf(kind), uid, namespace, name })
}

/**
 * Whether the owner controls the object (isOwnedBy), or would if its only owner reference were controlling. Landscaper
 * writes such references on its data and the exports of items, for the garbage collector. The next write of Pawl makes
 * the reference controlling.
 */
export function isOnlyOwnedBy(
  object: Pick<KubeObject, 'metadata'>,
  kind: OwnerKind,
  owner: OwnerName & { readonly namespace: string },
): boolean {
  const holder = onlyOwnerOf(object)
  if (holder === undefined) return isOwnedBy(object, kind, owner)
  const ownerReferences = [{ ...holder, controller: true }]
  return isOwnedBy({ metadata: { ...object.metadata, ownerReferences } }, kind, owner)
}

/** The only owner reference of an object, controlling or not. */
export function onlyOwnerOf({ metadata }: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  const [only, ...others] = metadata.ownerReferences ?? []
  return others.length === 0 ? only : undefined
}
