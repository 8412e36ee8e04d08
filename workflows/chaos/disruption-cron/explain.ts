// Explains the status of a DisruptionCron to users: the next run, and why the last one was skipped.

import { fieldsOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { childName } from '../child-disruption.ts'
import { explainStop } from '../emergency-stop.ts'
import type { SkipReason } from './due.ts'

export function explainCron(cron: object, namespaces: readonly object[] = []): StatusExplanation {
  return explainStop(cron, namespaces, explainSchedule(cron))
}

function explainSchedule(cron: object): StatusExplanation {
  const { metadata, spec, status } = fieldsOf(cron)
  const { targetResource } = fieldsOf(spec)
  const { nextScheduleTime: next, pausedSince, ...last } = fieldsOf(status)
  const { lastScheduleTime, lastSkippedTime, lastSkippedReason } = last
  const [ran, skipped] = [textOf(lastScheduleTime), textOf(lastSkippedTime)]
  const name = textOf(fieldsOf(metadata)['name'])
  // Kubernetes timestamps of one length: their order as texts is their order in time.
  const isSkipped = skipped > ran && isSkipReason(lastSkippedReason)
  const sentences = [
    ...(textOf(pausedSince) === '' ? [] : [`paused since ${textOf(pausedSince)}; to continue, remove spec.paused`]),
    ...(textOf(next) === '' ? [] : [`next run at ${textOf(next)}`]),
    ...(isSkipped
      ? [`the run at ${skipped} was skipped: ${skipText(lastSkippedReason, { name, targetResource })}`]
      : []),
    ...(!isSkipped && ran !== '' ? [`last run at ${ran}`] : []),
  ]
  return sentences.length === 0 ? {} : { summary: sentences.join('; ') }
}

function isSkipReason(reason: unknown): reason is SkipReason {
  return reason === 'StillThere' || reason === 'TargetMissing' || reason === 'TooLate'
}

/** The reason of a skipped run, and how to prevent it. @param name the name of the cron. */
export function skipText(
  reason: SkipReason,
  { name, targetResource }: { readonly name: string; readonly targetResource: unknown },
): string {
  const { kind, name: target } = fieldsOf(targetResource)
  switch (reason) {
    case 'StillThere':
      return `the previous Disruption "${childName({ kind: 'DisruptionCron', metadata: { name } })}" still existed; delete it, or set controller.expiredDisruptionGCDelay in the chaos configuration (${reason})`
    case 'TargetMissing':
      return `${textOf(kind)} "${textOf(target)}" did not exist; create it, or correct spec.targetResource (${reason})`
    case 'TooLate':
      return `it would have started later than spec.delayedStartTolerance allows; increase the tolerance to make up for such runs (${reason})`
  }
}
