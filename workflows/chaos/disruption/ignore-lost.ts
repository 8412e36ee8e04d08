// With static targeting: says of targets whose chaos pods were taken away that they are lost, so that nobody disturbs them again, nor others in their place.
// Source: spec/chaos.md 2.3 (the last but one), B14.
//
//   I1. It is said before anything is let go of, so that a worker that dies between the two is followed by one who knows. What went while no worker ran is
//       known by what was said of it: it had been injected.
//   I2. A lost target stays among the targets, for those who read what was done; it counts as ignored, and is not asked for any more.
//   I3. Who is over or being deleted loses nothing: there chaos pods are to go. Nor does a node that has failed, which takes its chaos pod along.
//   I4. What is missing when chaos-controller's work is taken over is made, as chaos-controller would.

import { action, done } from '../../kit/index.ts'
import { isExpired } from './expire.ts'
import { isInjectedOnce } from './make-chaos-pods.ts'
import { isReplaced } from './moved-targets.ts'
import { type DisruptionPass, specOf, statusIn } from './pass.ts'

export const ignoreLost = action<DisruptionPass>('ignoreLost', async (pass) => {
  // I3
  if (specOf(pass).staticTargeting !== true || isExpired(pass)) return done
  const { targets = [], ignoredTargets = [], ignoredTargetsCount = 0, desiredTargetsCount = 0 } = statusIn(pass)
  const known = new Set(ignoredTargets)
  const lost = lostIn(pass, targets).filter((target) => !known.has(target))
  if (lost.length === 0) return done
  const { status } = pass
  status.ignoredTargets = [...ignoredTargets, ...lost].sort()
  // I2
  status.selectedTargetsCount = targets.filter((target) => !known.has(target) && !lost.includes(target)).length
  status.ignoredTargetsCount = ignoredTargetsCount + lost.length
  status.desiredTargetsCount = Math.max(0, desiredTargetsCount - lost.length)
  // I1
  await pass.save()
  return done
})

function lostIn(pass: DisruptionPass, targets: readonly string[]): readonly string[] {
  const { chaosPods } = pass.state
  const going = new Set(chaosPods.filter((pod) => pod.isDeleting && !isReplaced(pass, pod)).map(keyOf))
  const there = new Set(chaosPods.map(keyOf))
  const { targetInjections = {} } = statusIn(pass)
  // I4
  const isOurs = pass.target.status?.originalSpec !== undefined
  return targets.filter((target) =>
    Object.entries(targetInjections[target] ?? {}).some(([does, { since }]) => {
      const key = keyOf({ target, does })
      if (isInjectedOnce(pass, target, does)) return false
      return going.has(key) || (isOurs && since !== undefined && !there.has(key))
    }),
  )
}

function keyOf({ target, does }: { readonly target: string; readonly does: string }): string {
  return `${does} ${target}`
}
