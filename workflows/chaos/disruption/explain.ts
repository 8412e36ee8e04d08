// Explains the status of a Disruption to users: how many targets are injected, and why the others are not.

import { fieldsOf, type StatusExplanation, textOf } from '../../kit/index.ts'

export function explainDisruption(disruption: object): StatusExplanation {
  const status = fieldsOf(fieldsOf(disruption)['status'])
  const phase = textOf(status['injectionStatus'])
  const summary = summaryOf(status)
  return { ...(phase !== '' && { phase }), ...(summary !== '' && { summary }) }
}

function summaryOf(status: Readonly<Record<string, unknown>>): string {
  const { injectedTargetsCount: injected, desiredTargetsCount: desired, targetInjections } = status
  const reason = failedPods(fieldsOf(targetInjections)) || textOf(status['message'])
  // A projection has no counts.
  if (typeof injected !== 'number' || typeof desired !== 'number') return reason
  const counts = `${injected} of ${desired} targets injected`
  return reason === '' ? counts : `${counts}: ${reason}`
}

/** The first target that is not injected and whose chaos pod reports an error. */
function failedPods(targets: Readonly<Record<string, unknown>>): string {
  const failed = Object.entries(targets).flatMap(([target, kinds]) =>
    Object.entries(fieldsOf(kinds)).flatMap(([kind, injection]) => {
      const { injectionStatus, injectorPodName, message, simulated } = fieldsOf(injection)
      if (injectionStatus === 'Injected' || simulated === true || textOf(message) === '') return []
      const reason = textOf(message).replace(/^not injected: /, '')
      return [`chaos pod ${textOf(injectorPodName)} has not injected ${kind} into ${target}: ${reason}`]
    }),
  )
  return `${failed[0] ?? ''}${failed.length > 1 ? ` (and ${failed.length - 1} more)` : ''}`
}
