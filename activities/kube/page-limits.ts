// Lists that were too large all at once: in which pages they came, so that the next pass does not read what it has to throw away first.
// Per client, and bounded; only memory, for a process that does not know tries all at once.

import type { KubeClient } from './client.ts'

export interface RememberedList {
  readonly kube: Pick<KubeClient, 'request'>
  /** Path and selectors. */
  readonly list: string
}

const MOST_LISTS = 500
const LIMITS = new WeakMap<RememberedList['kube'], Map<string, number>>()

/** Undefined: it came all at once, or was not asked for lately. */
export function lastLimit({ kube, list }: RememberedList): number | undefined {
  return LIMITS.get(kube)?.get(list)
}

/** @param limit undefined: all at once. */
export function rememberLimit({ kube, list }: RememberedList, limit: number | undefined): void {
  const limits = LIMITS.get(kube) ?? new Map<string, number>()
  LIMITS.set(kube, limits)
  // What is used goes to the end; the one that was used least lately is forgotten.
  limits.delete(list)
  if (limit === undefined) return
  limits.set(list, limit)
  const [oldest] = limits.keys()
  if (limits.size > MOST_LISTS && oldest !== undefined) limits.delete(oldest)
}
