// Whose child an object is: said here, and nowhere else. activities/journal/read/children.ts says the same in SQL. Pure; takes objects and
// projections alike. Source: docs/architecture.md "Namespaces are walls".
//
//   P1. An object is the child of the one owner that its controlling reference names; other references say nothing.
//   P2. The reference names the owner by uid, kind (in any version) and name. Whoever writes it chooses all of them.
//   P3. So the place decides: a child is in its owner's namespace, where only those write who may write the owner's children. An owner that is
//       in no namespace owns anywhere.
// MERGED How an object says whose it is where owner references do not reach: in another namespace than its owner's, or when it is to stay. Pure.
//
//   M1. The label has the owner's uid, and selects. Only an object whose label and annotation both name the owner is its own.
//   M2. The annotation names the owner: who is woken by the object's events. Alone it says for whom an object was made that belongs to nobody.

import { type GroupKind, groupKindOf, groupKindText, isSameGroupKind } from '../kind/group-kind.ts'
import type { OwnerReference } from '../kind/kind.ts'
import { annotation, label, path, type Path, textAt, valueAt } from '../kind/projection.ts'

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

/** M1 */
export const OWNER_UID_LABEL = 'pawl.dev/owner-uid'
/** M2: `Shop.example.com/namespace/name`; the namespace is empty for owners in none. */
export const OWNER_ANNOTATION = 'pawl.dev/made-for'

/** What the bridge remembers of objects that may be owned so. */
export const OWNERSHIP_LABEL_PATHS: readonly Path[] = [label(OWNER_UID_LABEL), annotation(OWNER_ANNOTATION)]

export interface LabelledOwner {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export function ownerAnnotation({ namespace, name, ...kind }: LabelledOwner): string {
  return `${groupKindText(groupKindOf(kind))}/${namespace}/${name}`
}

/** Of objects and projections alike; each part undefined where nothing says so. */
export function ownershipLabelsOf(object: object): {
  readonly uid: string | undefined
  readonly madeFor: string | undefined
} {
  return { uid: textAt(object, label(OWNER_UID_LABEL)), madeFor: textAt(object, annotation(OWNER_ANNOTATION)) }
}

/** The place that an annotation of this kind of owner names; undefined when it names another kind. */
export function labelledOwner(
  object: object,
  kind: Pick<LabelledOwner, 'apiVersion' | 'kind'>,
): { readonly uid: string; readonly namespace: string; readonly name: string } | undefined {
  const { uid, madeFor: text = '' } = ownershipLabelsOf(object)
  const [of, namespace, name, ...rest] = text.split('/')
  if (uid === undefined || namespace === undefined || name === undefined || rest.length > 0) return undefined
  return of === groupKindText(groupKindOf(kind)) ? { uid, namespace, name } : undefined
}
