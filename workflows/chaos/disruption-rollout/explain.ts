// Explains the status of a DisruptionRollout to users: what became of the last change, and what it waits for.

import { fieldsOf, type StatusExplanation, textOf } from '../../kit/index.ts'
import { childName } from '../child-disruption.ts'
import { explainStop } from '../emergency-stop.ts'

export function explainRollout(rollout: object, namespaces: readonly object[] = []): StatusExplanation {
  return explainStop(rollout, namespaces, explainChange(rollout))
}

function explainChange(rollout: object): StatusExplanation {
  const { metadata, spec, status } = fieldsOf(rollout)
  const { kind, name } = fieldsOf(fieldsOf(spec)['targetResource'])
  const target = `${textOf(kind)} "${textOf(name)}"`
  const times = fieldsOf(status)
  const [missing, changed] = [
    textOf(times['targetResourcePreviouslyMissing']),
    textOf(times['lastContainerChangeTime']),
  ]
  const [tested, skipped] = [textOf(times['lastScheduleTime']), textOf(times['lastSkippedTime'])]
  if (missing !== '')
    return { summary: `${target} is missing since ${missing}; create it, or correct spec.targetResource` }
  // Without a status, no pass has observed the object.
  if (changed === '')
    return status === undefined ? {} : { summary: `waits for a change of the containers of ${target}` }
  // Kubernetes timestamps of one length: their order as texts is their order in time.
  if (changed <= tested)
    return { summary: `created a Disruption for the change at ${changed}; waits for the next change of ${target}` }
  if (changed === skipped)
    return { summary: `skipped the change of ${target} at ${changed}: ${TOO_LATE}; waits for the next change` }
  const child = childName({ kind: 'DisruptionRollout', metadata: { name: textOf(fieldsOf(metadata)['name']) } })
  return {
    summary: `the change of ${target} at ${changed} has no Disruption yet: the previous Disruption "${child}" must be deleted first, or an emergency stop lifted`,
  }
}

/** The reason of a skipped change, and how to prevent it. */
export const TOO_LATE =
  'its Disruption would have started later than spec.delayedStartTolerance allows; increase the tolerance to make up for such changes (TooLate)'
