// Texts that replace names which a user may not see, and functions that find and remove names in texts of the journal.
// Pure.

import type { GroupKind } from '../../workflows/kit/index.ts'

/** Replaces a name in the caller's namespace, or a name whose namespace is unknown. */
export const REDACTED = 'that you may not see'
/** Replaces a name in another namespace. */
export const REDACTED_NAMESPACE = 'in a namespace that you may not see'

export function isRedacted(text: string): boolean {
  return text === REDACTED || text === REDACTED_NAMESPACE
}

/**
 * Parses an object reference of an action: `Kind.group/namespace/name`; core kinds have no group. Undefined for other
 * texts.
 */
export function parseObjectReference(
  text: string,
): (GroupKind & { readonly namespace: string; readonly name: string }) | undefined {
  const [kindText = '', namespace, name, ...more] = text.split('/')
  const [kind = '', ...group] = kindText.split('.')
  if (kind === '' || namespace === undefined || name === undefined || more.length > 0) return undefined
  return { group: group.join('.'), kind, namespace, name }
}

/**
 * Removes object names from one cause, or from several causes joined with "; ". Causes of level-mode wakes name objects
 * by kind and name without a namespace (workflows/kit/run/level/level-routes.ts), so they cannot be authorized.
 */
export function withoutNames(cause: string): string {
  return cause
    .split('; ')
    .map((part) => part.replace(/^([A-Z]\w*) \S+/, '$1 (name not shown)'))
    .join('; ')
}
