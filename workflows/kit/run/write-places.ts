// Where the actions of a controller in level mode may write, by what it declares (declared-writes.ts). Pure.
//
//   W1. Without declaration an action may write any kind, in the target's namespace.
//   W2. With one, other kinds are refused; and other namespaces, unless they are named.
//   W3. Kinds of the whole cluster are declared by being named.
//   W4. What an action may not write there cannot be the target's by label: label and annotation are written by whoever may write the object.
//   W5. A namespace that is a template is the one that it is filled with. As long as nobody has filled it, it is none.

import { type GroupKind, groupKindOf, groupKindText } from '../kind/group-kind.ts'
import { isTemplate, type WrittenKind } from './declared-writes.ts'
import { fillTemplate, type Ground } from './query.ts'

/** Where an object is to be written: its kind, and its namespace, empty for kinds in none. */
export interface WritePlace {
  readonly kind: string
  readonly namespace: string
  /** Of the target. */
  readonly home: string
}

/** Whether the controller declares it; 'undeclared' is the kind, 'elsewhere' the namespace (W1-W3). */
export function writeVerdict(
  writes: readonly WrittenKind[],
  { kind, namespace, home }: WritePlace,
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
export function mayBeMarked(
  writes: readonly WrittenKind[],
  { group, kind, namespace, home }: GroupKind & Omit<WritePlace, 'kind'>,
): boolean {
  const inAnyVersion = writes.map((one) => ({ ...one, kind: withoutVersion(one.kind) }))
  return writeVerdict(inAnyVersion, { kind: groupKindText({ group, kind }), namespace, home }) === 'declared'
}

/** W5. What is declared for this target; a template that cannot be filled names no namespace. */
export function writesFor(writes: readonly WrittenKind[], ground: Ground): readonly WrittenKind[] {
  return withNamespaces(writes, (template) => fillTemplate(template, ground))
}

/**
 * Whether they could be, for who knows neither the target nor what the wing says: templates may become any namespace. Who is woken so looks again, with
 * those that are filled.
 */
export function couldBeMarked(writes: readonly WrittenKind[], place: Parameters<typeof mayBeMarked>[1]): boolean {
  return mayBeMarked(
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
