// Explains the status of a Disruption to users: how many targets are injected, and why the others are not.

import { fieldsOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { durationMs } from '../go-duration.ts'
import { timestampText } from '../timestamp.ts'
import type { DisruptionSpec } from './kind.ts'
import { ALL_TAKEN, noTargetsText } from './missing-targets.ts'
import { timesOf } from './times.ts'
import { UNCREATED } from './uncreated-pods.ts'

type Fields = Readonly<Record<string, unknown>>

export function explainDisruption(disruption: object): StatusExplanation {
  const fields = fieldsOf(disruption)
  const phase = textOf(fieldsOf(fields['status'])['injectionStatus'])
  const summary = deletionOf(fields) ?? endOf(fields) ?? summaryOf(fields)
  return { ...(phase !== '' && { phase }), ...(summary !== '' && { summary }) }
}

function summaryOf(disruption: Fields): string {
  const status = fieldsOf(disruption['status'])
  // The first injection writes injectedTargetsCount.
  const { injectedTargetsCount: injected = 0, desiredTargetsCount: desired } = status
  const { targetInjections, isStuckOnRemoval } = status
  const reason = failedPods(fieldsOf(targetInjections)) || textOf(status['message'])
  // A projection has no counts.
  if (typeof injected !== 'number' || typeof desired !== 'number') return reason
  const missing = isStuckOnRemoval === true || reason !== '' ? undefined : missingTargets(disruption, desired)
  if (missing?.isEmpty === true) return missing.reason
  const counts = `${injected} of ${desired} targets injected`
  const why = missing?.reason ?? reason
  return why === '' ? counts : `${counts}: ${why}`
}

/** For a Disruption in deletion; undefined for others, for projections, and before the first pass of the deletion. */
function deletionOf({ metadata, status: given }: Fields): string | undefined {
  const status = fieldsOf(given)
  if (fieldsOf(metadata)['deletionTimestamp'] === undefined || !isOver(status)) return undefined
  if (status['cleanedAt'] !== undefined) return textOf(status['message']) || 'everything is undone'
  const { injected, left, reason } = leftIn(fieldsOf(status['targetInjections']))
  if (left === 0) return 'the chaos pods are being deleted'
  const counts = `the changes to ${left} of ${injected} targets are being undone`
  return reason === '' ? counts : `${counts}: ${reason}`
}

/** False for projections. */
function isOver(status: Fields): boolean {
  return textOf(status['injectionStatus']).startsWith('Previously') && typeof status['desiredTargetsCount'] === 'number'
}

/** For a Disruption whose duration is over; undefined for others and for projections. */
function endOf({ metadata, spec, status: given }: Fields): string | undefined {
  const { creationTimestamp } = fieldsOf(metadata)
  const status = fieldsOf(given)
  if (!isOver(status)) return undefined
  const used = fieldsOf(status['originalSpec'] ?? spec) as Partial<DisruptionSpec>
  const isKnown = textOf(creationTimestamp) !== '' && durationMs(used.duration) !== undefined
  const times = { spec: used, metadata: { creationTimestamp: textOf(creationTimestamp) } }
  const since = isKnown ? ` since ${timestampText(timesOf(times, 0).end)}` : ''
  return [
    `the duration is over${since}`,
    removedText(fieldsOf(status['targetInjections'])),
    'the object stays until you delete it, or until controller.expiredDisruptionGCDelay of the chaos configuration has passed, if set',
  ].join('; ')
}

function removedText(targets: Fields): string {
  const { injected, left, reason } = leftIn(targets)
  if (injected === 0) return 'no target was injected'
  const counts = `removed from ${injected - left} of ${injected} ${injected === 1 ? 'target' : 'targets'}`
  return reason === '' ? counts : `${counts}: ${reason}`
}

/** The numbers of targets that were injected, and of those that are not undone, and an error of their chaos pods. */
function leftIn(targets: Fields): { readonly injected: number; readonly left: number; readonly reason: string } {
  // A kind that was injected into a target has the time of the injection.
  const injected = Object.entries(targets).filter(([, kinds]) =>
    Object.values(fieldsOf(kinds)).some((injection) => textOf(fieldsOf(injection)['since']) !== ''),
  )
  const left = injected.filter(([, kinds]) =>
    Object.values(fieldsOf(kinds)).some((injection) => fieldsOf(injection)['injectionStatus'] !== 'NotInjected'),
  )
  return { injected: injected.length, left: left.length, reason: failedPods(Object.fromEntries(left)) }
}

/** Why fewer targets than desired were chosen; undefined if enough were chosen, or the Disruption is over. */
function missingTargets(
  { metadata, spec, status: given }: Fields,
  desired: number,
): { readonly reason: string; readonly isEmpty: boolean } | undefined {
  const { namespace, deletionTimestamp } = fieldsOf(metadata)
  const status = fieldsOf(given)
  const { targets, selectedTargetsCount: selected, ignoredTargetsCount: ignored = 0, originalSpec } = status
  const isOver = deletionTimestamp !== undefined || textOf(status['injectionStatus']).startsWith('Previously')
  if (isOver || !Array.isArray(targets) || typeof selected !== 'number' || typeof ignored !== 'number') return undefined
  const matching = selected + ignored
  const used = (originalSpec ?? spec) as DisruptionSpec
  if (matching === 0) return { reason: noTargetsText(used, textOf(namespace)), isEmpty: true }
  if (selected < Math.min(desired, matching)) return { reason: ALL_TAKEN, isEmpty: false }
  return selected < desired ? { reason: fewMatchesText(used, matching), isEmpty: false } : undefined
}

function fewMatchesText({ level }: DisruptionSpec, matching: number): string {
  const thing = level === 'node' ? 'ready node' : 'running pod'
  return `only ${matching} ${matching === 1 ? `${thing} matches` : `${thing}s match`}`
}

/** The first target that is not injected and whose chaos pod reports an error. */
function failedPods(targets: Fields): string {
  const failed = Object.entries(targets).flatMap(([target, kinds]) =>
    Object.entries(fieldsOf(kinds)).flatMap(([kind, injection]) => {
      const { injectionStatus, injectorPodName, message, simulated } = fieldsOf(injection)
      if (injectionStatus === 'Injected' || simulated === true || textOf(message) === '') return []
      const reason = textOf(message).replace(/^not injected: /, '')
      if (reason.startsWith(UNCREATED))
        return [`no chaos pod for ${kind} into ${target}: ${reason.slice(UNCREATED.length)}`]
      const pod = `chaos pod ${textOf(injectorPodName)}`
      if (injectionStatus === 'IsStuckOnRemoval') return [`${pod} could not remove ${kind} from ${target}: ${reason}`]
      return [`${pod} has not injected ${kind} into ${target}: ${reason}`]
    }),
  )
  return `${failed[0] ?? ''}${failed.length > 1 ? ` (and ${failed.length - 1} more)` : ''}`
}
