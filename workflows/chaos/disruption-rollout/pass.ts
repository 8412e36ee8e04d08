// What the steps over a DisruptionRollout work with.

import type { Deployment, StatefulSet } from '../../kit/kind/kubernetes/apps/v1.ts'
import type { PodSelector } from '../child-disruption.ts'
import { type ParentPass, parentQueries, type ParentState } from '../parent-pass.ts'
import { containerHashes, type ContainerHashes } from './changes.ts'
import type { DisruptionRollout } from './kind.ts'

/** What is seen of the target resource: how its pods are found, and what its containers are. */
export interface RolloutTarget {
  readonly selector: PodSelector
  readonly hashes: ContainerHashes
}

export function rolloutTargetView({ spec }: Deployment | StatefulSet): RolloutTarget {
  return { selector: spec?.selector ?? {}, hashes: containerHashes(spec?.template.spec ?? { containers: [] }) }
}

export type RolloutPassState = ParentState<RolloutTarget>
export type RolloutPass = ParentPass<RolloutTarget, DisruptionRollout>

export const rolloutQueries = parentQueries('DisruptionRollout', rolloutTargetView)

export function targetIn({ state }: Pick<RolloutPass, 'state'>): RolloutTarget | undefined {
  return state.deployment ?? state.statefulSet
}
