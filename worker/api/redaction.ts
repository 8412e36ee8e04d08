// What stands in the place of what somebody may not see: plain words, never the name of it.

import type { GroupKind } from '../../workflows/kit/index.ts'

/** In a place of the same namespace, or one that is not known any more. */
export const REDACTED = 'that you may not see'
/** Elsewhere. */
export const REDACTED_NAMESPACE = 'in a namespace that you may not see'

export function isRedacted(text: string): boolean {
  return text === REDACTED || text === REDACTED_NAMESPACE
}

// Names of objects inside texts of the journal: where they are found, and what is told in their place. Pure.

/** Of an object as actions name it: `Kind.group/namespace/name`, without a group in the core. Undefined: it is none. */
export function parseObjectReference(
  text: string,
): (GroupKind & { readonly namespace: string; readonly name: string }) | undefined {
  const [kindText = '', namespace, name, ...more] = text.split('/')
  const [kind = '', ...group] = kindText.split('.')
  if (kind === '' || namespace === undefined || name === undefined || more.length > 0) return undefined
  return { group: group.join('.'), kind, namespace, name }
}

/**
 * A cause, or several as the journal joins them. What woke a controller in level mode is called by kind and name, without namespace
 * (workflows/kit/run/level-routes.ts), so that nobody can judge it: the name is left out.
 */
export function withoutNames(cause: string): string {
  return cause
    .split('; ')
    .map((part) => part.replace(/^([A-Z]\w*) \S+/, '$1 (name not shown)'))
    .join('; ')
}
