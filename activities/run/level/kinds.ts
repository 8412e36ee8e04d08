// What activities in level mode know of a kind: how the bridge remembers it, or that nobody follows it.

import { CONTENT, type LevelResource, type WatchedKind } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'

/** The kind as the bridge has it, so that the answers of writes and the events of the watch are reduced alike. */
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
