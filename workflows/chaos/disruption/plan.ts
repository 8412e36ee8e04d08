// What a pass over a Disruption does: one named step for each of the seed. Source: seeds/chaos-controller.txt; spec/chaos.md 2.1, 2.2.

import { action, again, done, fail, type Outcome, sequential, when } from '../../kit/index.ts'
import { chooseTargets } from './choose-targets.ts'
import { obeyStop } from './emergency-stop.ts'
import { endChaosPods } from './end-chaos-pods.ts'
import { expire, isExpired } from './expire.ts'
import { ignoreLost } from './ignore-lost.ts'
import { keepSpec } from './keep-spec.ts'
import { makeChaosPods } from './make-chaos-pods.ts'
import { observeTargets } from './observe-targets.ts'
import { configOf, type DisruptionPass, specOf, timesIn } from './pass.ts'
import { specProblems, specProblemsText } from './rules/spec.ts'
import { hearWarnings } from './hear-warnings.ts'
import { rememberHome } from './remember-home.ts'
import { takeOver } from './take-over.ts'
import { sayInjection, tellInjection } from './tell-injection.ts'

/** An operator's emergency exit: nothing new, and what is there goes. */
const deleteIt = action<DisruptionPass>('deleteIt', async ({ act, target }) => {
  await act.remove(target)
  // Its own deletion wakes no run.
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
      message: 'spec.count: found 100, which means 100 targets; for all of them it is "100%"',
    })
  return done
})

const awaitBeginning = action<DisruptionPass>('awaitBeginning', (pass): Outcome => {
  const waitMs = timesIn(pass).createPods - pass.now.getTime()
  if (waitMs <= 0) return done
  sayInjection(pass)
  return again(waitMs)
})

const inject = sequential(
  checkSpec,
  awaitBeginning,
  chooseTargets,
  hearWarnings,
  observeTargets,
  makeChaosPods,
  tellInjection,
)

export const disrupt = sequential<DisruptionPass>(
  rememberHome,
  // Before what may fail in each pass.
  obeyStop,
  takeOver,
  keepSpec,
  ignoreLost,
  endChaosPods,
  when((pass: DisruptionPass) => configOf(pass).controller.deleteOnly, deleteIt, when(isExpired, expire, inject)),
)

export { cleanUp } from './clean-up.ts'
