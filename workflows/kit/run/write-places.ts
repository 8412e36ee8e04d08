// Where the actions of a controller in level mode may write, by what it declares (declared-writes.ts). Pure.
//
//   W1. Without declaration an action may write any kind, in the target's namespace.
//   W2. With one, other kinds are refused; and other namespaces, unless they are named.
//   W3. Kinds of the whole cluster are declared by being named.

import type { WrittenKind } from './declared-writes.ts'

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
