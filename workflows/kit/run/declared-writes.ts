// What a controller says that it writes beside its target, as data: its roles derive from it (worker/gen/level-rbac.ts). Pure.

import type { QueryTemplate } from './query.ts'

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
