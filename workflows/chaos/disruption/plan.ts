// The plan of a Disruption: one named step for each step of the specification. Source: seeds/chaos-controller.txt;
// spec/chaos.md 2.1, 2.2.

import { action, again, done, fail, type Outcome, sequential, when } from '../../kit/index.ts'
import { chooseTargets, ignoreLostTargets } from './choose-targets.ts'
import { cleanUp } from './clean-up.ts'
import { endChaosPods, endOrphans } from './end-chaos-pods.ts'
import { expire, isExpired } from './expire.ts'
import { recordSpec, recordChaosNamespace, takeOver } from './first-steps.ts'
import { createChaosPods } from './create-chaos-pods.ts'
import { observeTargets, readTargetWarnings } from './observe-targets.ts'
import { configOf, type DisruptionPass, specOf, timesIn } from './pass.ts'
import { specProblems, specProblemsText } from './rules/spec.ts'
import { updateInjectionStatus, reportInjection } from './injection-status.ts'
import { stopIn, stopText } from '../emergency-stop.ts'

export const obeyStop = action<DisruptionPass>('obeyStop', async ({ act, target, state }): Promise<Outcome> => {
  const stop = stopIn(state)
  if (stop === undefined) return done
  await act.event({ type: 'Warning', reason: 'EmergencyStop', message: stopText(stop, 'it is deleted') })
  await act.remove(target)
  return again(0)
})

/** The step for `deleteOnly`, an operator's emergency setting: deletes the Disruption and injects nothing. */
const deleteIt = action<DisruptionPass>('deleteIt', async ({ act, target }) => {
  await act.remove(target)
  // A controller's own deletion does not wake the run.
  return again(0)
})

const checkSpec = action<DisruptionPass>('checkSpec', async (pass): Promise<Outcome> => {
  const spec = specOf(pass)
  const problems = specProblems(spec)
  const ofSelectors = problems.filter(({ field }) => /^spec\.(?:selector|advancedSelector)/.test(field))
  if (ofSelectors.length > 0)
    await pass.act.event({ type: 'Warning', reason: 'InvalidLabelSelector', message: specProblemsText(ofSelectors) })
  if (problems.length > 0) return fail('InvalidSpec', specProblemsText(problems))
  if (String(spec.count) === '100')
    await pass.act.event({
      type: 'Warning',
      reason: 'InvalidSpec',
      message: 'spec.count: found 100, which means 100 targets; write "100%" for all targets',
    })
  return done
})

const awaitBeginning = action<DisruptionPass>('awaitBeginning', (pass): Outcome => {
  const waitMs = timesIn(pass).createPods - pass.now.getTime()
  if (waitMs <= 0) return done
  updateInjectionStatus(pass)
  return again(waitMs)
})

const inject = sequential(
  checkSpec,
  awaitBeginning,
  chooseTargets,
  readTargetWarnings,
  observeTargets,
  createChaosPods,
  reportInjection,
)

export const disrupt = sequential<DisruptionPass>(
  recordChaosNamespace,
  // These steps come before every step that may fail.
  obeyStop,
  takeOver,
  recordSpec,
  ignoreLostTargets,
  endChaosPods,
  when((pass: DisruptionPass) => configOf(pass).controller.deleteOnly, deleteIt, when(isExpired, expire, inject)),
)

export const disruptionPlans = { plan: disrupt, onDelete: cleanUp, onGone: endOrphans }
