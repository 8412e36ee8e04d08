// Names of objects inside texts of the journal: where they are found, and what is told in their place. Pure.

import type { GroupKind } from '../../workflows/kit/index.ts'

/** Of an object as actions name it: `Kind.group/namespace/name`, without a group in the core. Undefined: it is none. */
export function placeOfText(
  text: string,
): (GroupKind & { readonly namespace: string; readonly name: string }) | undefined {
  const [kindText = '', namespace, name, ...more] = text.split('/')
  const [kind = '', ...group] = kindText.split('.')
  if (kind === '' || namespace === undefined || name === undefined || more.length > 0) return undefined
  return { group: group.join('.'), kind, namespace, name }
}

/**
 * A cause, or several as the journal joins them. What woke a controller in level mode is called by kind and name, without namespace
 * (workflows/kit/run/level/level-routes.ts), so that nobody can judge it: the name is left out.
 */
export function tellable(cause: string): string {
  return cause
    .split('; ')
    .map((part) => part.replace(/^([A-Z]\w*) \S+/, '$1 (name not shown)'))
    .join('; ')
}
