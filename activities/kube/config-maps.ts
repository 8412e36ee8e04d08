// ConfigMaps, which the engine reads by name and never journals.

import type { WatchedKind } from '../../workflows/kit/index.ts'

/** Nothing of a ConfigMap may enter the journal: people keep all kinds of things there. */
export const configMapResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  projection: [],
  hashed: [],
  unfollowed: true,
}
