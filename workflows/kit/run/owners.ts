// Whose child an object is: said here, and nowhere else. activities/journal/read/children.ts says the same in SQL. Pure; takes objects and
// projections alike. Source: docs/architecture.md "Namespaces are walls".
//
//   P1. An object is the child of the one owner that its controlling reference names; other references say nothing.
//   P2. The reference names the owner by uid, kind (in any version) and name. Whoever writes it chooses all of them.
//   P3. So the place decides: a child is in its owner's namespace, where only those write who may write the owner's children. An owner that is
//       in no namespace owns anywhere.

import { type GroupKind, groupKindOf, isSameGroupKind } from '../kind/group-kind.ts'
import type { OwnerReference } from '../kind/kind.ts'
import { path, textAt, valueAt } from '../kind/projection.ts'

/** An object that may have children. */
export interface Owner extends GroupKind {
  readonly uid: string
  /** Empty: in none. */
  readonly namespace: string
  readonly name: string
}

/** P1; undefined where nothing controls the object. */
export function ownerReferenceOf(object: object): OwnerReference | undefined {
  const references = valueAt(object, path('metadata.ownerReferences'))
  if (!Array.isArray(references)) return undefined
  return (references as readonly OwnerReference[]).find(({ controller }) => controller === true)
}

/** The controlling owner, if it is of this kind, in whatever version. */
export function ownerOfKind(object: object, kind: GroupKind): OwnerReference | undefined {
  const reference = ownerReferenceOf(object)
  return reference !== undefined && isSameGroupKind(groupKindOf(reference), kind) ? reference : undefined
}

/** P1-P3 */
export function isChildOf(object: object, owner: Owner): boolean {
  const reference = ownerReferenceOf(object)
  return (
    reference !== undefined &&
    isNamedBy(reference, owner) &&
    (owner.namespace === '' || (textAt(object, path('metadata.namespace')) ?? '') === owner.namespace)
  )
}

/** P2 */
function isNamedBy(reference: OwnerReference, { group, kind, uid, name }: Owner): boolean {
  return reference.uid === uid && reference.name === name && isSameGroupKind(groupKindOf(reference), { group, kind })
}
