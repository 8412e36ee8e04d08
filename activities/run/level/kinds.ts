// Finds how the bridge follows a kind.

import { CONTENT, type LevelResource, type WatchedKind } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'

/** Returns the kind as the bridge follows it, so that answers of writes and watch events have the same projection. */
export function followedKind({ followed = [] }: Pick<Deps, 'followed'>, resource: LevelResource): WatchedKind {
  const { apiVersion, kind, plural } = resource
  const known = followed.find((one) => one.kind === kind && one.apiVersion === apiVersion)
  return known ?? { apiVersion, kind, plural, projection: [], hashed: [CONTENT], unfollowed: true }
}

/** `Widget default/one`, or `Node a`. */
export function nameOf(
  kind: string,
  { namespace = '', name }: { readonly namespace?: string; readonly name: string },
): string {
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}
