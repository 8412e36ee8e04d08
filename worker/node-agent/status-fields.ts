// The status of a Pod.

import type { PodCondition } from '../../activities/pods.ts'

/** The fields of the Pod status that an agent writes. */
export interface PodStatus {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly startTime?: string
  readonly hostIP?: string
  readonly podIP?: string
  readonly conditions?: readonly StatusCondition[]
  readonly initContainerStatuses?: readonly ContainerStatus[]
  readonly containerStatuses?: readonly ContainerStatus[]
}

export interface StatusCondition extends PodCondition {
  readonly lastTransitionTime?: string
}

export interface ContainerStatus {
  readonly name: string
  readonly image?: string
  readonly imageID?: string
  readonly containerID?: string
  readonly ready?: boolean
  readonly started?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly running?: { readonly startedAt: string }
  readonly terminated?: {
    readonly exitCode: number
    readonly reason: string
    readonly message?: string
    readonly startedAt: string
    readonly finishedAt: string
    readonly containerID?: string
  }
}
