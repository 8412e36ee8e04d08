// What a controller says that it writes beside its target, as data: its roles derive from it (worker/gen/level-rbac.ts). Pure.
// MERGED Where the actions of a controller in level mode may write, by what it declares (declared-writes.ts). Pure.
//
//   W1. Without declaration an action may write any kind, in the target's namespace.
//   W2. With one, other kinds are refused; and other namespaces, unless they are named.
//   W3. Kinds of the whole cluster are declared by being named.
//   W4. What an action may not write there cannot be the target's by label: label and annotation are written by whoever may write the object.
//   W5. A namespace that is a template is the one that it is filled with. As long as nobody has filled it, it is none.

import { fillTemplate, type TemplateValues, type QueryTemplate } from './query.ts'
import { type GroupKind, groupKindOf, groupKindText } from '../../kind/group-kind.ts'

/** What a controller does to objects that it writes: `create` and `patch` make and change them, `delete` is for `remove`. */
export type WriteVerb = 'create' | 'patch' | 'delete'

/**
 * A kind that a controller writes: `group/version/Kind`, or with the namespaces beside the target's in which it does, and with what it does there where that
 * is not everything. A namespace may be a template, as that of a query.
 */
export type DeclaredWrite =
  string | { readonly kind: string; readonly namespaces?: readonly string[]; readonly verbs?: readonly WriteVerb[] }

/** A declared write as controllers have it. */
export interface WrittenKind {
  /** `group/version/Kind`; `v1/Kind` in Kubernetes' core group. */
  readonly kind: string
  /** Namespaces in addition to the target's own. */
  readonly namespaces: readonly QueryTemplate[]
  /** For its roles. Default: all. */
  readonly verbs?: readonly WriteVerb[]
}

const EVERYTHING = { namespaces: undefined, verbs: undefined }

const KIND = /^(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+\/[A-Z][A-Za-z0-9]*$/
// Source: RFC 1123 labels, as Kubernetes' validation has them.
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** @throws a plain Error that names the controller, what was found and what was expected. */
export function writtenKinds(name: string, writes: readonly DeclaredWrite[]): readonly WrittenKind[] {
  const all = writes.map((write): WrittenKind => {
    const { kind, namespaces, verbs } = typeof write === 'string' ? { ...EVERYTHING, kind: write } : write
    if (!KIND.test(kind))
      throw new Error(`controller ${name}: \`writes\` has "${kind}", expected group/version/Kind, or v1/Kind`)
    if (namespaces?.length === 0)
      throw new Error(
        `controller ${name}: \`writes\` has no namespaces for ${kind}, expected at least one, or no field`,
      )
    const wrong = namespaces?.find((namespace) => !NAMESPACE.test(namespace) && !isTemplate(namespace))
    if (wrong !== undefined)
      throw new Error(`controller ${name}: \`writes\` has namespace "${wrong}" for ${kind}, expected a name of one`)
    if (verbs?.length === 0)
      throw new Error(`controller ${name}: \`writes\` has no verbs for ${kind}, expected at least one, or no field`)
    return { kind, namespaces: namespaces ?? [], ...(verbs !== undefined && { verbs }) }
  })
  const twice = all.find(({ kind }, index) => all.findIndex((one) => one.kind === kind) < index)
  if (twice !== undefined) throw new Error(`controller ${name}: \`writes\` has ${twice.kind} twice, expected it once`)
  return all
}

/** Whether a namespace is told by the target, or by what the controller's wing says. */
export function isTemplate(namespace: QueryTemplate): boolean {
  return /^\$\{(target|settings)\.[^}]+\}$/.test(namespace)
}

/** Where an object is to be written: its kind, and its namespace, empty for kinds in none. */
export interface WritePlace {
  readonly kind: string
  readonly namespace: string
  /** Of the target. */
  readonly targetNamespace: string
}

/** Whether the controller declares it; 'undeclared' is the kind, 'elsewhere' the namespace (W1-W3). */
export function checkWritePlace(
  writes: readonly WrittenKind[],
  { kind, namespace, targetNamespace: home }: WritePlace,
): 'declared' | 'undeclared' | 'elsewhere' {
  // A target of the whole cluster owns wherever it writes.
  const isHome = home === '' || namespace === home
  if (writes.length === 0) return isHome ? 'declared' : 'elsewhere'
  const found = writes.find((one) => one.kind === kind)
  if (found === undefined) return 'undeclared'
  const isNamed = namespace === '' || found.namespaces.includes(namespace)
  return isHome || isNamed ? 'declared' : 'elsewhere'
}

/** Whether objects of a kind, in whatever version, can be the target's by label in a namespace (W4). */
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

/** W5. What is declared for this target; a template that cannot be filled names no namespace. */
export function writesFor(writes: readonly WrittenKind[], ground: TemplateValues): readonly WrittenKind[] {
  return withNamespaces(writes, (template) => fillTemplate(template, ground))
}

/**
 * Whether they could be, for who knows neither the target nor what the wing says: templates may become any namespace. Who is woken so looks again, with
 * those that are filled.
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
