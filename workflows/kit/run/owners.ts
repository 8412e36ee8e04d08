// Decides which object owns another: by controlling owner reference, or by ownership labels where owner references do
// not reach (in another namespace, or for objects that outlive the owner). activities/journal/conditions.ts has the
// same rules in SQL. Pure; takes objects and projections. Source: docs/concepts/architecture.md "Namespaces are boundaries".
//
//   P1. An object's owner is the object that its controlling owner reference names; other references have no effect.
//   P2. The reference names the owner by uid, kind (in any version) and name. The writer of the object chooses all three.
//   P3. So the namespace decides: a child is in its owner's namespace, where all writers may write the owner's children. A cluster-scoped owner owns
//       in all
// namespaces.
//   M1. The label contains the owner's uid and serves as selector. An object is owned by label only when label and annotation both name the owner.
//   M2. The annotation names the owner that the object's events wake. Without the label, it names the object for which an unowned object was created.

import { type GroupKind, groupKindOf, groupKindText, isSameGroupKind } from '../kind/group-kind.ts'
import type { OwnerReference } from '../kind/kind.ts'
import { annotation, label, path, type Path, textAt, valueAt } from '../kind/projection.ts'

/** An object that may have children. */
export interface Owner extends GroupKind {
  readonly uid: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
}

/** P1; undefined without a controlling reference. */
export function ownerReferenceOf(object: object): OwnerReference | undefined {
  const references = valueAt(object, path('metadata.ownerReferences'))
  if (!Array.isArray(references)) return undefined
  return (references as readonly OwnerReference[]).find(({ controller }) => controller === true)
}

/** The controlling reference, if it names this kind in any version. */
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
/** M2: `Shop.example.com/namespace/name`; the namespace is empty for cluster-scoped owners. */
export const OWNER_ANNOTATION = 'pawl.dev/made-for'

/** The paths that the bridge adds to the projection of kinds that may be owned by label. */
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

/** Takes objects and projections; undefined for a missing label or annotation. */
export function ownershipLabelsOf(object: object): {
  readonly uid: string | undefined
  readonly madeFor: string | undefined
} {
  return { uid: textAt(object, label(OWNER_UID_LABEL)), madeFor: textAt(object, annotation(OWNER_ANNOTATION)) }
}

/** The owner that the annotation names; undefined for another kind of owner. */
export function labelledOwner(
  object: object,
  kind: Pick<LabelledOwner, 'apiVersion' | 'kind'>,
): { readonly uid: string; readonly namespace: string; readonly name: string } | undefined {
  const { uid, madeFor: text = '' } = ownershipLabelsOf(object)
  const [of, namespace, name, ...rest] = text.split('/')
  if (uid === undefined || namespace === undefined || name === undefined || rest.length > 0) return undefined
  return of === groupKindText(groupKindOf(kind)) ? { uid, namespace, name } : undefined
}
