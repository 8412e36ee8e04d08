// Decides whether the containers of a target have changed and whether the change starts a Disruption. Pure. Source:
// spec/chaos.md 2.13.
//
// H1. The first observation is not a change.
// H2. The whole spec of a container counts, but nothing else of the pod, such as replicas or labels.

import { contentHash } from '../../kit/index.ts'
import { timestampMs } from '../timestamp.ts'
import type { DisruptionRolloutStatus } from './kind.ts'

/** The compared part of a pod template. */
export interface PodContainers {
  readonly containers: readonly { readonly name: string }[]
  readonly initContainers?: readonly { readonly name: string }[] | undefined
}

export type ContainerHashes = Required<
  Pick<DisruptionRolloutStatus, 'latestInitContainersHash' | 'latestContainersHash'>
>

type RecordedContainers = Pick<
  DisruptionRolloutStatus,
  'latestInitContainersHash' | 'latestContainersHash' | 'lastContainerChangeTime'
>

/** H2. Only hashes are stored, never the containers' fields such as environment variables. */
export function containerHashes({ containers, initContainers = [] }: PodContainers): ContainerHashes {
  return { latestInitContainersHash: hashesOf(initContainers), latestContainersHash: hashesOf(containers) }
}

/**
 * The status after an observation; unchanged values if no container has changed. @param at the current time as a
 * Kubernetes timestamp.
 */
export function updatedContainers(before: RecordedContainers, now: ContainerHashes, at: string): RecordedContainers {
  const { latestInitContainersHash, latestContainersHash, lastContainerChangeTime } = before
  const isFirst = latestContainersHash === undefined
  const isSame =
    contentHash([latestInitContainersHash ?? {}, latestContainersHash ?? {}]) ===
    contentHash([now.latestInitContainersHash, now.latestContainersHash])
  const changedAt = isFirst || isSame ? lastContainerChangeTime : at
  return { ...now, ...(changedAt !== undefined && { lastContainerChangeTime: changedAt }) }
}

function hashesOf(containers: PodContainers['containers']): Readonly<Record<string, string>> {
  return Object.fromEntries(containers.map((container) => [container.name, contentHash(container)]))
}

export interface RolloutState {
  readonly status: Pick<DisruptionRolloutStatus, 'lastContainerChangeTime' | 'lastScheduleTime'>
  readonly isTargetThere: boolean
  readonly hasChild: boolean
  readonly nowMs: number
  readonly toleranceMs: number
}

export type RolloutDecision =
  | { readonly run: 'now' | 'too late'; readonly forMs: number }
  | { readonly run: 'target missing' | 'never changed' | 'already tested' | 'still there' }

export function rolloutDecision({
  status,
  isTargetThere,
  hasChild,
  nowMs,
  toleranceMs,
}: RolloutState): RolloutDecision {
  const [changedMs, testedMs] = [timestampMs(status.lastContainerChangeTime), timestampMs(status.lastScheduleTime)]
  if (!isTargetThere) return { run: 'target missing' }
  if (changedMs === undefined) return { run: 'never changed' }
  if (testedMs !== undefined && changedMs <= testedMs) return { run: 'already tested' }
  if (hasChild) return { run: 'still there' }
  return { run: changedMs + toleranceMs < nowMs ? 'too late' : 'now', forMs: changedMs }
}
