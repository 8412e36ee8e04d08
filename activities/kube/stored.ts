// Objects of a kind as the API server has stored them, by the kind that was asked for.

import type { Kind, ObjectOf, WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from './client.ts'

/** The type that a kind's definition derives; any object for kinds that are known by their names and paths only. */
export type StoredAs<Watched extends WatchedKind> = Watched extends Kind ? ObjectOf<Watched> : KubeObject

/**
 * What the server answered about an object of this kind, as that. No cast but this one: the server has checked the object against the CRD
 * that is generated from the same definition.
 */
export function storedAs<Watched extends WatchedKind>(_watched: Watched, object: KubeObject): StoredAs<Watched> {
  return object as unknown as StoredAs<Watched>
}
