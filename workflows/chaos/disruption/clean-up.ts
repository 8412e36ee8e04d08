// The deletion of a Disruption: deletes every chaos pod once, releases each after its clean-up, and then releases the
// Disruption. Source: seeds/chaos-controller.txt "Cleanup phase"; spec/chaos.md 2.2 (5), 2.8.
//
// C1. The Disruption is clean when no pod with its labels exists, from any creator.
// C2. A chaos pod that cannot clean up is reported with the commands that resolve it. It blocks the deletion of the
//   Disruption until a user removes its finalizer.
// C3. The status changes once at the start and once at the end of the deletion: the end of each single chaos pod causes
//   no status write. The message of the last status has the time of the release.

import { action, again, done, nop, orElse, type Outcome, sequential } from '../../kit/index.ts'
import {
  remainingChaosPods,
  deleteChaosPods,
  endChaosPods,
  RECHECK_MS,
  stuckPodsIn,
  wasReleased,
} from './end-chaos-pods.ts'
import { reportOverdue } from './expire.ts'
import type { ChaosPod } from './observed.ts'
import { configOf, type DisruptionPass, injectionStatusIn, statusIn } from './pass.ts'
import { recordChaosNamespace, takeOver } from './first-steps.ts'
import { updateInjectionStatus } from './injection-status.ts'
import { timestampMs, timestampText } from '../timestamp.ts'

const deleteAll = action<DisruptionPass>('deleteChaosPods', async (pass): Promise<Outcome> => {
  await deleteChaosPods(
    pass,
    pass.state.chaosPods.filter(({ isDeleting }) => !isDeleting),
  )
  // C3
  if (!injectionStatusIn(pass).startsWith('Previously') || hasStuckChange(pass)) updateInjectionStatus(pass)
  return done
})

/** Whether the stuck chaos pods of the status may have changed. */
function hasStuckChange(pass: DisruptionPass): boolean {
  const { targetInjections = {} } = statusIn(pass)
  const isRecordedStuck = Object.values(targetInjections).some((kinds) =>
    Object.values(kinds).some(({ injectionStatus }) => injectionStatus === 'IsStuckOnRemoval'),
  )
  return isRecordedStuck || stuckPodsIn(pass).size > 0
}

const awaitChaosPods = action<DisruptionPass>('awaitChaosPods', async (pass): Promise<Outcome> => {
  const remaining = await remainingPodsIn(pass)
  if (remaining.length === 0) return done
  const { target, now } = pass
  await reportOverdue(pass, remaining, {
    since: timestampMs(target.metadata.deletionTimestamp) ?? now.getTime(),
    cause: 'deletion',
  })
  return again(RECHECK_MS)
})

const finish = action<DisruptionPass>('finish', async (pass): Promise<Outcome> => {
  const { status, act, now } = pass
  const { finalizerDeletionDelayMs: delayMs } = configOf(pass).controller
  const cleaned = timestampMs(statusIn(pass).cleanedAt)
  if (cleaned === undefined) {
    updateInjectionStatus(pass)
    status.cleanedAt = timestampText(now.getTime())
    if (statusIn(pass).isStuckOnRemoval === true) status.isStuckOnRemoval = false
    await act.event({ type: 'Normal', reason: 'Cleaned', message: 'no chaos pod is left' })
  }
  const releaseAt = (cleaned ?? now.getTime()) + delayMs
  if (now.getTime() < releaseAt) {
    status.message = `everything is undone; the object is released at ${timestampText(releaseAt)} (finalizerDeletionDelay)`
    return again(releaseAt - now.getTime())
  }
  await act.event({ type: 'Normal', reason: 'Finished', message: 'everything is undone' })
  return done
})

// Chaos pods that cannot be taken over are awaited as well, and reported when they are overdue.
export const cleanUp = sequential(
  recordChaosNamespace,
  orElse(takeOver, nop),
  endChaosPods,
  deleteAll,
  awaitChaosPods,
  finish,
)

/** C1 */
async function remainingPodsIn(pass: DisruptionPass): Promise<readonly ChaosPod[]> {
  const chaosPods = remainingChaosPods(pass)
  // These pods have our finalizer; its removal by another client wakes the next pass.
  const cleaning = chaosPods.filter((pod) => pod.isHeld && pod.phase === 'Running' && !wasReleased(pass, pod))
  if (cleaning.length > 0) return chaosPods
  const [own, labelled] = await Promise.all([
    chaosPods.length === 0 ? [] : pass.refresh('chaosPods'),
    pass.refresh('labelledChaosPods'),
  ])
  return own.length > 0 ? own : labelled
}
