// Whether the containers of a target have changed, and whether that change is to be disturbed. Pure. Source: spec/chaos.md 2.13.
//
//   H1. What is seen first is no change.
//   H2. A container's whole spec counts, and nothing else of the pod: no number of replicas, no label.

import { contentHash } from '../../kit/index.ts'
import { instantMs } from '../instant.ts'
import type { DisruptionRolloutStatus } from './kind.ts'

/** The part of a pod template that is compared. */
export interface PodContainers {
  readonly containers: readonly { readonly name: string }[]
  readonly initContainers?: readonly { readonly name: string }[] | undefined
}

export type ContainerHashes = Required<
  Pick<DisruptionRolloutStatus, 'latestInitContainersHash' | 'latestContainersHash'>
>

type Seen = Pick<
  DisruptionRolloutStatus,
  'latestInitContainersHash' | 'latestContainersHash' | 'lastContainerChangeTime'
>

/** H2. What of the containers is compared; nothing else of them is kept anywhere, such as the values of their environment. */
export function containerHashes({ containers, initContainers = [] }: PodContainers): ContainerHashes {
  return { latestInitContainersHash: hashesOf(initContainers), latestContainersHash: hashesOf(containers) }
}

/** The status after a look at the target; the very same values where nothing has changed. @param at now, as Kubernetes writes times. */
export function seenContainers(before: Seen, now: ContainerHashes, at: string): Seen {
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
  const [changedMs, testedMs] = [instantMs(status.lastContainerChangeTime), instantMs(status.lastScheduleTime)]
  if (!isTargetThere) return { run: 'target missing' }
  if (changedMs === undefined) return { run: 'never changed' }
  if (testedMs !== undefined && changedMs <= testedMs) return { run: 'already tested' }
  if (hasChild) return { run: 'still there' }
  return { run: changedMs + toleranceMs < nowMs ? 'too late' : 'now', forMs: changedMs }
}
