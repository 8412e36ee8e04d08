// The deletion of a Disruption: every chaos pod is deleted, once, and let go of when what it did is undone; then the Disruption itself.
// Source: seeds/chaos-controller.txt "Cleanup phase"; spec/chaos.md 2.2 (5), 2.8.
//
//   C1. It is clean when no chaos pod with its labels is left, whoever made it.
//   C2. What cannot clean is told, with the way out; it holds the Disruption until somebody has taken it away.
//   C3. That it is over is said once, and that it is clean once: chaos pods that end meanwhile, one after the other, are no news of their own.

import { action, again, done, nop, orElse, type Outcome, sequential } from '../../kit/index.ts'
import {
  chaosPodsLeft,
  deleteChaosPods,
  endChaosPods,
  LOOK_AGAIN_MS,
  stuckPodsIn,
  wasReleased,
} from './end-chaos-pods.ts'
import { tellOverdue } from './overdue.ts'
import type { ChaosPod } from './observed.ts'
import { configOf, type DisruptionPass, injectionStatusIn, statusIn } from './pass.ts'
import { rememberHome } from './remember-home.ts'
import { takeOver } from './take-over.ts'
import { sayInjection } from './tell-injection.ts'
import { instantMs, instantText } from '../instant.ts'

const deleteAll = action<DisruptionPass>('deleteChaosPods', async (pass): Promise<Outcome> => {
  await deleteChaosPods(
    pass,
    pass.state.chaosPods.filter(({ isDeleting }) => !isDeleting),
  )
  // C3
  if (!injectionStatusIn(pass).startsWith('Previously') || isStuckNews(pass)) sayInjection(pass)
  return done
})

/** Which of them are stuck is said of each target. */
function isStuckNews(pass: DisruptionPass): boolean {
  const { targetInjections = {} } = statusIn(pass)
  const said = Object.values(targetInjections).some((kinds) =>
    Object.values(kinds).some(({ injectionStatus }) => injectionStatus === 'IsStuckOnRemoval'),
  )
  return said || stuckPodsIn(pass).size > 0
}

const awaitChaosPods = action<DisruptionPass>('awaitChaosPods', async (pass): Promise<Outcome> => {
  const left = await leftIn(pass)
  if (left.length === 0) return done
  const { target, now } = pass
  await tellOverdue(pass, left, {
    since: instantMs(target.metadata.deletionTimestamp) ?? now.getTime(),
    what: 'deletion',
  })
  return again(LOOK_AGAIN_MS)
})

const finish = action<DisruptionPass>('finish', async (pass): Promise<Outcome> => {
  const { status, act, now } = pass
  const { finalizerDeletionDelayMs: delayMs } = configOf(pass).controller
  const cleaned = instantMs(statusIn(pass).cleanedAt)
  if (cleaned === undefined) {
    sayInjection(pass)
    status.cleanedAt = instantText(now.getTime())
    if (statusIn(pass).isStuckOnRemoval === true) status.isStuckOnRemoval = false
    await act.event({ type: 'Normal', reason: 'Cleaned', message: 'no chaos pod is left' })
  }
  const goes = (cleaned ?? now.getTime()) + delayMs
  if (now.getTime() < goes) return again(goes - now.getTime())
  await act.event({ type: 'Normal', reason: 'Finished', message: 'everything is undone' })
  return done
})

// What cannot be taken over is waited for all the same, and told when it is overdue.
export const cleanUp = sequential(rememberHome, orElse(takeOver, nop), endChaosPods, deleteAll, awaitChaosPods, finish)

/** C1 */
async function leftIn(pass: DisruptionPass): Promise<readonly ChaosPod[]> {
  const chaosPods = chaosPodsLeft(pass)
  // Our finalizer is on them; whoever else takes it off wakes the next pass.
  const cleaning = chaosPods.filter((pod) => pod.isHeld && pod.phase === 'Running' && !wasReleased(pass, pod))
  if (cleaning.length > 0) return chaosPods
  const [own, labelled] = await Promise.all([
    chaosPods.length === 0 ? [] : pass.refresh('chaosPods'),
    pass.refresh('labelledChaosPods'),
  ])
  return own.length > 0 ? own : labelled
}
