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
