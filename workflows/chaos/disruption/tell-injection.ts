// Says in the status how much is injected. Readiness of chaos pods is the only sign of it. Source: seeds/chaos-controller.txt "Injection phase", step 5;
// spec/chaos.md 2.6.

import { action, done, later } from '../../kit/index.ts'
import { kindNamesOf } from '../contract.ts'
import { chaosPodsLeft, stuckPodsIn } from './end-chaos-pods.ts'
import {
  injectedTargets,
  injectionStatusOf,
  messageOf,
  simulatedCount,
  targetInjectionsOf,
} from './injection-status.ts'
import { isReplaced } from './moved-targets.ts'
import { type DisruptionPass, injectionStatusIn, specOf, statusIn, timesIn } from './pass.ts'
import { instantText } from '../instant.ts'

export const tellInjection = action<DisruptionPass>('tellInjection', (pass) => {
  const isOver = sayInjection(pass)
  return isOver ? done : later(timesIn(pass).end - pass.latest.getTime())
})

/** @returns whether it has expired, or is being deleted. */
export function sayInjection(pass: DisruptionPass): boolean {
  const { status, target, now, latest } = pass
  const isOver = target.metadata.deletionTimestamp !== undefined || latest.getTime() >= timesIn(pass).end
  const said = statusIn(pass)
  const kinds = kindNamesOf(specOf(pass))
  const { targets = [], ignoredTargets = [], desiredTargetsCount = 0, targetInjections = {} } = said
  const pods = chaosPodsLeft(pass).filter((pod) => !isReplaced(pass, pod))
  // What becomes of one that is lost says nothing of the others.
  const about = {
    kinds,
    pods: pods.filter(({ target: name }) => !ignoredTargets.includes(name)),
    targets: targets.filter((name) => !ignoredTargets.includes(name)),
  }
  const current = injectionStatusIn(pass)
  status.injectionStatus = injectionStatusOf({ ...about, current, desired: desiredTargetsCount, isOver })
  status.injectedTargetsCount = injectedTargets(about).length
  if (targets.length > 0 || Object.keys(targetInjections).length > 0) {
    const injections = targetInjectionsOf(
      { kinds, pods, targets, before: targetInjections, stuck: stuckPodsIn(pass) },
      instantText(now.getTime()),
    )
    status.targetInjections = injections
    const [message, simulated] = [messageOf(injections), simulatedCount(injections)]
    if (message !== said.message) status.message = message ?? null
    if (simulated !== (said.simulatedTargetsCount ?? 0)) status.simulatedTargetsCount = simulated
  }
  return isOver
}
