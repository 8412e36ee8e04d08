// Who owns an object: the one reference that controllers write, and the one check whether an object is theirs.
// Source: docs/architecture.md "Namespaces are walls".

import { groupKindOf, isSameGroupKind, type WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject, OwnerReference } from './client.ts'
import { ownerOf } from './views.ts'

type OwnerKind = Pick<WatchedKind, 'apiVersion' | 'kind'>

/** Of an owner that waits for what it owns when it is deleted in the foreground. */
export function ownerReference({ apiVersion, kind }: OwnerKind, { name, uid }: OwnerName): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

interface OwnerName {
  readonly name: string
  readonly uid: string
}

/**
 * Whether this owner controls the object: by uid, from the same namespace, under its own kind. A uid alone proves nothing: whoever writes an
 * owner reference chooses it. An owner without namespace may own anywhere.
 */
export function isOwnedBy(
  object: KubeObject,
  kind: OwnerKind,
  owner: { readonly uid: string; readonly namespace: string },
): boolean {
  const found = ownerOf(object)
  if (found === undefined || found.uid !== owner.uid) return false
  const isNear = owner.namespace === '' || (object.metadata.namespace ?? '') === owner.namespace
  return isNear && isSameGroupKind(groupKindOf(found), groupKindOf(kind))
}
