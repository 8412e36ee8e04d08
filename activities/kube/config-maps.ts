// ConfigMaps, which the engine reads by name and never journals.

import type { WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from './client.ts'

/** Nothing of a ConfigMap may enter the journal: people keep all kinds of things there. */
export const configMapResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [],
  hashed: [],
  unfollowed: true,
}

/** The entries that are not texts, each in base64; undefined where it has none. Those of `data` are `entriesOf`. */
export function binaryEntriesOf(object: KubeObject): Readonly<Record<string, string>> | undefined {
  return object['binaryData'] as Readonly<Record<string, string>> | undefined
}
