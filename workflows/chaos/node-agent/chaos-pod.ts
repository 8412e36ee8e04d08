// A chaos pod and its injector process, as the node agent sees them. Source: spec/chaos.md 2.5, 6 (6).

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

/** The relevant fields of the Pod. Timestamps are milliseconds since the epoch, durations are milliseconds. */
export interface ChaosPod {
  readonly phase: PodPhase
  /** The pod has a deletionTimestamp: the grace period of its process. */
  readonly deletion: { readonly graceMs: number } | undefined
  /** The grace period if the process ends for another reason. */
  readonly graceMs: number
  /** The maximum time after `startTime`. */
  readonly activeDeadlineMs: number | undefined
  /** The reason why its process cannot be started; undefined: it can. */
  readonly problem: string | undefined
}

/** The reason why the agent terminates a process. */
export type EndReason = 'deadline' | 'deleted' | 'gone'

/** The termination message that the injector has written. */
export interface InjectorMessage {
  /** Empty: no message. */
  readonly message: string
  /** The injector was started for a target without a process. */
  readonly isSimulated: boolean
}

/** How a process has ended. */
export type Exit =
  | { readonly how: 'exited'; readonly code: number }
  /** The process could not be started. */
  | { readonly how: 'unstarted'; readonly message: string }
  /** The process died unobserved, or its record is lost. */
  | { readonly how: 'lost' }

export interface Ending {
  readonly why: EndReason
  readonly sinceMs: number
  readonly graceMs: number
  /** The grace period has passed and the process group was killed. */
  readonly isKilled: boolean
}

/** The process of a pod, in the agent's view. */
export type Run =
  | { readonly state: 'absent' }
  /** The process is being started. */
  | { readonly state: 'starting' }
  | {
      readonly state: 'running'
      /** The pod's `startTime`: when the agent accepted the pod. */
      readonly acceptedMs: number
      readonly startedMs: number
      readonly isReady: boolean
      readonly injectorMessage?: InjectorMessage
      readonly ending: Ending | undefined
    }
  | {
      readonly state: 'ended'
      readonly acceptedMs: number
      readonly startedMs: number | undefined
      readonly finishedMs: number
      readonly exit: Exit
      readonly injectorMessage?: InjectorMessage
      readonly ending: Ending | undefined
    }
