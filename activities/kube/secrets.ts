// Secrets, which the engine reads and writes by name and never journals.

import type { WatchedKind } from '../../workflows/kit/index.ts'

/** Nothing of a Secret but its identity may enter the journal, hence no projected and no hashed path. */
export const secretResource: WatchedKind = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  projection: [],
  hashed: [],
  unfollowed: true,
}
