// What a pass over a DisruptionRollout does. Source: spec/chaos.md 2.13.
//
//   R1. When the containers changed stands in the status before a Disruption is made for it, so a repeated pass means the same change.
//   R2. What a Disruption says that it was made for (`scheduled-at`) heals a status that was not written any more.
//   R3. Times are whole seconds, so a change in the very second of the last Disruption counts as one of the next: it is a later one.

import { action, done, fail, type Outcome, sequential } from '../../kit/index.ts'
import { scheduledAtMs } from '../child-disruption.ts'
import { specProblemsText } from '../disruption/rules/spec.ts'
import { instantMs, instantText } from '../instant.ts'
import { endChildren, isHeldBack, makeChild, obeySwitch, toleranceMsOf } from '../parent-pass.ts'
import { rolloutProblems } from './admission.ts'
import { rolloutDecision, seenContainers } from './changes.ts'
import { type RolloutPass, targetIn } from './pass.ts'

const SECOND_MS = 1000

const checkSpec = action<RolloutPass>('checkSpec', ({ target }): Outcome => {
  const problems = rolloutProblems(target)
  return problems.length === 0 ? done : fail('InvalidSpec', specProblemsText(problems))
})

const seeContainers = action<RolloutPass>('seeContainers', async (pass): Promise<Outcome> => {
  const { target, status, now } = pass
  const found = targetIn(pass)
  const { targetResourcePreviouslyMissing: missing, ...before } = target.status ?? {}
  status.targetResourcePreviouslyMissing = found === undefined ? (missing ?? instantText(now.getTime())) : null
  if (found === undefined) return done
  const { kind, name } = target.spec.targetResource
  const whose = `${kind}/${name}`
  // R3
  const at = instantText(Math.max(now.getTime(), (instantMs(before.lastScheduleTime) ?? 0) + SECOND_MS))
  const seen = seenContainers(before.latestTargetResource === whose ? before : {}, found.hashes, at)
  Object.assign(status, { ...seen, lastContainerChangeTime: seen.lastContainerChangeTime ?? null })
  status.latestTargetResource = whose
  // R1
  await pass.save()
  return done
})

const disturbChange = action<RolloutPass>('disturbChange', async (pass): Promise<Outcome> => {
  const { target, state, status, now, log } = pass
  // R2
  const testedMs = latest([instantMs(target.status?.lastScheduleTime), ...state.children.map(scheduledAtMs)])
  const lastScheduleTime = testedMs === undefined ? undefined : instantText(testedMs)
  if (lastScheduleTime !== undefined) status.lastScheduleTime = lastScheduleTime
  const found = targetIn(pass)
  const decision = rolloutDecision({
    status: { ...target.status, ...(lastScheduleTime !== undefined && { lastScheduleTime }) },
    isTargetThere: found !== undefined,
    hasChild: state.children.length > 0,
    nowMs: now.getTime(),
    toleranceMs: toleranceMsOf(pass),
  })
  if (decision.run === 'too late') {
    // The change stands there as long as none follows it: it is passed over once.
    const skipped = instantText(decision.forMs)
    if (target.status?.lastSkippedTime !== skipped)
      log.info('a Disruption is not made', { rollout: target.metadata.name, why: 'too late' })
    status.lastSkippedTime = skipped
  }
  if (decision.run !== 'now' || found === undefined || (await isHeldBack(pass))) return done
  const made = await makeChild(pass, found.selector, decision.forMs)
  if ('fault' in made) return made.fault
  status.lastScheduleTime = instantText(Math.max(now.getTime(), decision.forMs))
  return done
})

const obeyRolloutSwitch = obeySwitch<RolloutPass>('disruptionRolloutEnabled')

export const followContainers = sequential(obeyRolloutSwitch, checkSpec, seeContainers, disturbChange)

const endDisruption = action<RolloutPass>('endDisruption', endChildren)

export const endRollout = sequential(endDisruption)

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
