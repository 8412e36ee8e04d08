// The declared writes of a controller in level mode: their form, and the check of an action's write against them. `pawl gen` derives roles from them
// (worker/gen/level-rbac.ts). Pure.
//
//   W1. Without declarations an action may write any kind in the target's namespace.
//   W2. With declarations an action may write only declared kinds, in the target's namespace and in declared namespaces.
//   W3. Declaring a cluster-scoped kind is enough to write it.
//   W4. A target cannot own objects by label where its controller may not write: all writers of the object can set label and annotation.
//   W5. A namespace template is replaced by the namespace that it is filled with. An unfilled template matches no namespace.

import { fillTemplate, type TemplateValues, type QueryTemplate } from './query.ts'
import { type GroupKind, groupKindOf, groupKindText } from '../../kind/group-kind.ts'

/** The use of a written kind: `create` and `patch` create and change objects, `delete` is for `remove`. */
export type WriteVerb = 'create' | 'patch' | 'delete'

/**
 * A kind that a controller writes: `group/version/Kind`, optionally with namespaces besides the target's and with verbs. A namespace may be a
 * template like
 * in a query.
 */
export type DeclaredWrite =
  string | { readonly kind: string; readonly namespaces?: readonly string[]; readonly verbs?: readonly WriteVerb[] }

/** A declared write in its normal form. */
export interface WrittenKind {
  /** `group/version/Kind`; `v1/Kind` in Kubernetes' core group. */
  readonly kind: string
  /** Namespaces in addition to the target's own. */
  readonly namespaces: readonly QueryTemplate[]
  /** For the controller's roles. Default: all. */
  readonly verbs?: readonly WriteVerb[]
}

const EVERYTHING = { namespaces: undefined, verbs: undefined }

const KIND = /^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+\/[A-Z][A-Za-z0-9]*$/
// Source: RFC 1123 labels, as Kubernetes' validation has them.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** @throws a plain Error with the controller, the found and the expected value. */
export function writtenKinds(name: string, writes: readonly DeclaredWrite[]): readonly WrittenKind[] {
  const all = writes.map((write): WrittenKind => {
    const { kind, namespaces, verbs } = typeof write === 'string' ? { ...EVERYTHING, kind: write } : write
    if (!KIND.test(kind))
      throw new Error(
        `controller ${name}: \`writes\`: found "${kind}"; expected group/version/Kind, such as apps/v1/Deployment or v1/Secret`,
      )
    if (namespaces?.length === 0)
      throw new Error(
        `controller ${name}: \`writes\` has an empty list of namespaces for ${kind}; add a namespace, or remove the field`,
      )
    const wrong = namespaces?.find((namespace) => !NAMESPACE.test(namespace) && !isTemplate(namespace))
    if (wrong !== undefined)
      throw new Error(`controller ${name}: \`writes\` has the namespace "${wrong}" for ${kind}; expected a valid name`)
    if (verbs?.length === 0)
      throw new Error(
        `controller ${name}: \`writes\` has an empty list of verbs for ${kind}; add a verb, or remove the field`,
      )
    return { kind, namespaces: namespaces ?? [], ...(verbs !== undefined && { verbs }) }
  })
  const twice = all.find(({ kind }, index) => all.findIndex((one) => one.kind === kind) < index)
  if (twice !== undefined)
    throw new Error(`controller ${name}: \`writes\` has ${twice.kind} twice; expected each kind once`)
  return all
}

/** Whether the namespace is a template over target or settings. */
export function isTemplate(namespace: QueryTemplate): boolean {
  return /^\$\{(target|settings)\.[^}]+\}$/.test(namespace)
}

/** The kind and namespace of a write; the namespace is empty for cluster-scoped kinds. */
export interface WritePlace {
  readonly kind: string
  readonly namespace: string
  /** The target's namespace. */
  readonly targetNamespace: string
}

/** Whether the controller declares the write; otherwise whether the kind is 'undeclared' or the namespace is 'elsewhere' (W1-W3). */
export function checkWritePlace(
  writes: readonly WrittenKind[],
  { kind, namespace, targetNamespace: home }: WritePlace,
): 'declared' | 'undeclared' | 'elsewhere' {
  // A cluster-scoped target owns objects in all namespaces.
  const isHome = home === '' || namespace === home
  if (writes.length === 0) return isHome ? 'declared' : 'elsewhere'
  const found = writes.find((one) => one.kind === kind)
  if (found === undefined) return 'undeclared'
  const isNamed = namespace === '' || found.namespaces.includes(namespace)
  return isHome || isNamed ? 'declared' : 'elsewhere'
}

/** Whether the target can own objects of the kind, in any version, by label in this namespace (W4). */
export function mayOwnByLabel(
  writes: readonly WrittenKind[],
  { group, kind, namespace, targetNamespace: home }: GroupKind & Omit<WritePlace, 'kind'>,
): boolean {
  const inAnyVersion = writes.map((one) => ({ ...one, kind: withoutVersion(one.kind) }))
  return (
    checkWritePlace(inAnyVersion, { kind: groupKindText({ group, kind }), namespace, targetNamespace: home }) ===
    'declared'
  )
}

/** W5. The declared writes of this target; a template that cannot be filled matches no namespace. */
export function writesFor(writes: readonly WrittenKind[], ground: TemplateValues): readonly WrittenKind[] {
  return withNamespaces(writes, (template) => fillTemplate(template, ground))
}

/**
 * Like `mayOwnByLabel` when target and settings are unknown: templates may match any namespace. The woken pass checks again with filled templates.
 */
export function couldOwnByLabel(writes: readonly WrittenKind[], place: Parameters<typeof mayOwnByLabel>[1]): boolean {
  return mayOwnByLabel(
    withNamespaces(writes, () => place.namespace),
    place,
  )
}

function withNamespaces(writes: readonly WrittenKind[], filled: (template: string) => string | undefined) {
  return writes.map((write) => ({
    ...write,
    namespaces: write.namespaces.flatMap((one) => (isTemplate(one) ? (filled(one) ?? []) : one)),
  }))
}

function withoutVersion(name: string): string {
  const slash = name.lastIndexOf('/')
  return groupKindText(groupKindOf({ apiVersion: name.slice(0, slash), kind: name.slice(slash + 1) }))
}
