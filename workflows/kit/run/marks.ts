// How an object says whose it is where owner references do not reach: in another namespace than its owner's, or when it is to stay. Pure.
//
//   M1. The label has the owner's uid, and selects. Only an object whose label and annotation both name the owner is its own.
//   M2. The annotation names the owner: who is woken by the object's events. Alone it says for whom an object was made that belongs to nobody.

import { groupKindOf, groupKindText } from '../kind/group-kind.ts'
import { annotation, label, type Path, textAt } from '../kind/projection.ts'

/** M1 */
export const OWNER_UID = 'pawl.dev/owner-uid'
/** M2: `Shop.example.com/namespace/name`; the namespace is empty for owners in none. */
export const MADE_FOR = 'pawl.dev/made-for'

/** What the bridge remembers of objects that may be owned so. */
export const MARK_PATHS: readonly Path[] = [label(OWNER_UID), annotation(MADE_FOR)]

export interface MarkedOwner {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export function madeFor({ namespace, name, ...kind }: MarkedOwner): string {
  return `${groupKindText(groupKindOf(kind))}/${namespace}/${name}`
}

/** Of objects and projections alike; each part undefined where nothing says so. */
export function marksOf(object: object): { readonly uid: string | undefined; readonly madeFor: string | undefined } {
  return { uid: textAt(object, label(OWNER_UID)), madeFor: textAt(object, annotation(MADE_FOR)) }
}

/** The place that an annotation of this kind of owner names; undefined when it names another kind. */
export function markedPlace(
  object: object,
  kind: Pick<MarkedOwner, 'apiVersion' | 'kind'>,
): { readonly uid: string; readonly namespace: string; readonly name: string } | undefined {
  const { uid, madeFor: text = '' } = marksOf(object)
  const [of, namespace, name, ...rest] = text.split('/')
  if (uid === undefined || namespace === undefined || name === undefined || rest.length > 0) return undefined
  return of === groupKindText(groupKindOf(kind)) ? { uid, namespace, name } : undefined
}
