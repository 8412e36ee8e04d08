// What answers are judged by: the rights of the user who asks, and what the journal says of where things are.

import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'

export type Verb = 'get' | 'list'

/** What one user may do. */
export interface Rights {
  /** @param namespace empty: in all, or of a kind that lies in none. */
  readonly may: (verb: Verb, kind: GroupKind, namespace: string) => Promise<boolean>
  /** Whether objects of the kind can lie there; false for a kind that the API server does not have. */
  readonly fits: (kind: GroupKind, namespace: string) => Promise<boolean>
}

/** What the journal says of where things are. */
export interface Ground {
  readonly placesOf: (uids: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  readonly placesOfRuns: (workflowIDs: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  readonly namespacesOf: (kind: GroupKind, most: number) => Promise<readonly string[]>
}
