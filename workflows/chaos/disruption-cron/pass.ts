// What the steps over a DisruptionCron work with.

import type { Deployment, StatefulSet } from '../../kit/kind/kubernetes/apps/v1.ts'
import type { PodSelector } from '../child-disruption.ts'
import { type ParentPass, parentQueries, type ParentState } from '../parent-pass.ts'
import type { DisruptionCron } from './kind.ts'

/** What is seen of the target resource: how its pods are found. */
export interface CronTarget {
  readonly selector: PodSelector
}

export function cronTargetView({ spec }: Deployment | StatefulSet): CronTarget {
  return { selector: spec?.selector ?? {} }
}

export type CronState = ParentState<CronTarget>
export type CronPass = ParentPass<CronTarget, DisruptionCron>

export const cronQueries = parentQueries('DisruptionCron', cronTargetView)

export function targetIn({ state }: Pick<CronPass, 'state'>): CronTarget | undefined {
  return state.deployment ?? state.statefulSet
}
