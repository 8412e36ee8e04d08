// The plan of a DisruptionRollout. Source: spec/chaos.md 2.13.
//
// R1. The status contains the time of the change before a Disruption is created for it, so a repeated pass refers to
//   the same change.
// R2. The annotation of the child (`scheduled-at`) restores a status that was not written.
// R3. Timestamps have whole seconds. A change in the same second as the last Disruption is later than it, so it counts
//   for the next second.

import { action, done, fail, type Outcome, sequential } from '../../kit/index.ts'
import { scheduledAtMs, type PodSelector } from '../child-disruption.ts'
import { specProblemsText } from '../disruption/rules/spec.ts'
import { timestampMs, timestampText } from '../timestamp.ts'
import {
  deleteChildren,
  isBlocked,
  createChild,
  requireEnabled,
  toleranceMsOf,
  type ParentPass,
  parentQueries,
  type ParentState,
} from '../parent-pass.ts'
import { rolloutProblems } from './admission.ts'
import { rolloutDecision, updatedContainers, containerHashes, type ContainerHashes } from './changes.ts'
import type { Deployment, StatefulSet } from '../../kit/kind/kubernetes/apps/v1.ts'
import { TOO_LATE } from './explain.ts'
import type { DisruptionRollout } from './kind.ts'

/** The observed part of the target resource: its pod selector and the hashes of its containers. */
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

const SECOND_MS = 1000

const checkSpec = action<RolloutPass>('checkSpec', ({ target }): Outcome => {
  const problems = rolloutProblems(target)
  return problems.length === 0 ? done : fail('InvalidSpec', specProblemsText(problems))
})

const recordContainers = action<RolloutPass>('seeContainers', async (pass): Promise<Outcome> => {
  const { target, status, now } = pass
  const targetResource = targetIn(pass)
  const { targetResourcePreviouslyMissing: missing, ...before } = target.status ?? {}
  status.targetResourcePreviouslyMissing =
    targetResource === undefined ? (missing ?? timestampText(now.getTime())) : null
  if (targetResource === undefined) return done
  const { kind, name } = target.spec.targetResource
  const targetName = `${kind}/${name}`
  // R3
  const at = timestampText(Math.max(now.getTime(), (timestampMs(before.lastScheduleTime) ?? 0) + SECOND_MS))
  const updated = updatedContainers(before.latestTargetResource === targetName ? before : {}, targetResource.hashes, at)
  Object.assign(status, { ...updated, lastContainerChangeTime: updated.lastContainerChangeTime ?? null })
  status.latestTargetResource = targetName
  // R1
  await pass.save()
  return done
})

const createForChange = action<RolloutPass>('disturbChange', async (pass): Promise<Outcome> => {
  const { target, state, status, act, now, log } = pass
  // R2
  const testedMs = latest([timestampMs(target.status?.lastScheduleTime), ...state.children.map(scheduledAtMs)])
  const lastScheduleTime = testedMs === undefined ? undefined : timestampText(testedMs)
  if (lastScheduleTime !== undefined) status.lastScheduleTime = lastScheduleTime
  const targetResource = targetIn(pass)
  const decision = rolloutDecision({
    status: { ...target.status, ...(lastScheduleTime !== undefined && { lastScheduleTime }) },
    isTargetThere: targetResource !== undefined,
    hasChild: state.children.length > 0,
    nowMs: now.getTime(),
    toleranceMs: toleranceMsOf(pass),
  })
  if (decision.run === 'too late') {
    // The status keeps the change until the next one: each change is skipped once.
    const skipped = timestampText(decision.forMs)
    if (target.status?.lastSkippedTime !== skipped) {
      log.info('no Disruption is created', { rollout: target.metadata.name, why: 'too late' })
      const { kind, name } = target.spec.targetResource
      const message = `the change of ${kind} "${name}" at ${skipped} was skipped: ${TOO_LATE}`
      await act.event({ type: 'Warning', reason: 'DisruptionRolloutSkipped', message })
    }
    status.lastSkippedTime = skipped
  }
  if (decision.run !== 'now' || targetResource === undefined || (await isBlocked(pass))) return done
  const result = await createChild(pass, targetResource.selector, decision.forMs)
  if ('fault' in result) return result.fault
  status.lastScheduleTime = timestampText(Math.max(now.getTime(), decision.forMs))
  return done
})

const requireRolloutsEnabled = requireEnabled<RolloutPass>('disruptionRolloutEnabled')

export const followContainers = sequential(requireRolloutsEnabled, checkSpec, recordContainers, createForChange)

const endDisruption = action<RolloutPass>('endDisruption', deleteChildren)

export const endRollout = sequential(endDisruption)

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
