// The rights that bridge and worker need for a wing, from what stands in its folders: controllers, kinds, wing.ts. Pure.
//
//   B1. The bridge follows what a controller watches, and no other kind: what nobody is routed to by it need not be known. What else it does, wing.ts says.
//   B2. The worker does what the kinds and wing.ts say, and what controllers in level mode declare (level-rbac.ts).

import {
  type AccessRule,
  type JobModeController,
  type JsonValue,
  type Kind,
  type LevelController,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import { type Place, type Right, rightsOf } from './level-rbac.ts'

/** What stands in the folders of a wing. */
export interface WingParts {
  readonly kinds: readonly Kind[]
  readonly controllers: readonly (JobModeController | LevelController)[]
  /** Of its wing.ts. */
  readonly workerRules: readonly AccessRule[]
  readonly bridgeRules?: readonly AccessRule[]
  readonly webhookRules?: readonly AccessRule[]
  readonly usualSettings?: JsonValue
}

export function rightsOfWing(parts: WingParts): readonly Right[] {
  const { kinds, controllers, workerRules, bridgeRules = [], usualSettings } = parts
  const by = (process: Right['process'], rules: readonly AccessRule[]) =>
    rules.map((rule): Right => ({ process, place: 'beside the target', rule }))
  const elsewhere = [...by('worker', workerRules), ...by('bridge', bridgeRules)]
  const declared = controllers.flatMap((one) =>
    'mode' in one ? one.watches.map(following) : rightsOf(one, usualSettings),
  )
  return [...kinds.flatMap(working), ...elsewhere, ...declared]
}

function following(watched: WatchedKind): Right {
  const group = watched.apiVersion.includes('/') ? watched.apiVersion.replace(/\/.*$/, '') : ''
  const rule = { apiGroups: [group], resources: [watched.plural], verbs: ['list', 'watch'] }
  return { process: 'bridge', place: placeOf(watched), rule }
}

/** What a kind's `workerVerbs` say. */
function working(kind: Kind): readonly Right[] {
  const { group, plural, statusSubresource, workerVerbs } = kind
  if (workerVerbs.length === 0) return []
  const right = (resource: string, verbs: readonly string[]): Right => {
    return { process: 'worker', place: placeOf(kind), rule: { apiGroups: [group], resources: [resource], verbs } }
  }
  const writesStatus = statusSubresource && workerVerbs.includes('patch')
  return [
    right(plural, workerVerbs),
    ...(writesStatus ? [right(`${plural}/status`, ['patch'])] : []),
    // What is made for the object refers to it as its owner; where the server protects such references (blockOwnerDeletion), that needs this right.
    ...(writesStatus ? [right(`${plural}/finalizers`, ['update'])] : []),
  ]
}

function placeOf({ withoutNamespace }: WatchedKind): Place {
  return withoutNamespace === true ? 'anywhere' : 'beside the target'
}
