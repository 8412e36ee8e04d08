// Who owns an object: the one reference that controllers write, and the one check whether an object is theirs.
// Source: docs/architecture.md "Namespaces are walls".

import { groupKindOf, isChildOf, type WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject, OwnerReference } from './client.ts'

type OwnerKind = Pick<WatchedKind, 'apiVersion' | 'kind'>

/** Of an owner that waits for what it owns when it is deleted in the foreground. */
export function ownerReference({ apiVersion, kind }: OwnerKind, { name, uid }: OwnerName): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

interface OwnerName {
  readonly name: string
  readonly uid: string
}

/** Whether this owner controls the object (kit/run/owners.ts). An owner without namespace may own anywhere. */
export function isOwnedBy(
  object: Pick<KubeObject, 'metadata'>,
  kind: OwnerKind,
  { uid, namespace, name }: OwnerName & { readonly namespace: string },
): boolean {
  return isChildOf(object, { ...groupKindOf(kind), uid, namespace, name })
}

/**
 * Whether the object is this owner's (isOwnedBy), or would be if the only owner that it names controlled it: so Landscaper leaves its data and the exports
 * of items, for the garbage collector alone. What is written next has a reference that controls.
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

/** The only owner that an object names, whether it controls it or not. */
export function onlyOwnerOf({ metadata }: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  const [only, ...others] = metadata.ownerReferences ?? []
  return others.length === 0 ? only : undefined
}
