// What a node agent knows of a chaos pod, and of the process that stands for its container. Source: spec/chaos.md 2.5, 6 (6).

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

/** What is read of the Pod. Times are milliseconds since 1970, other numbers milliseconds. */
export interface ChaosPod {
  readonly phase: PodPhase
  /** It is to go: how long its process has to end after it was told. */
  readonly deletion: { readonly graceMs: number } | undefined
  /** The same where it is ended for another reason. */
  readonly graceMs: number
  /** How long it may be active, after `startTime`. */
  readonly activeDeadlineMs: number | undefined
  /** Why nothing can be started for it; undefined: something can. */
  readonly problem: string | undefined
}

/** Why a process is told to end. */
export type EndReason = 'deadline' | 'deleted' | 'gone'

/** What the injector has written as its termination message. */
export interface Said {
  /** Empty: nothing. */
  readonly message: string
  /** It was started for a target without a process. */
  readonly isSimulated: boolean
}

/** How a process has ended. */
export type Exit =
  | { readonly how: 'exited'; readonly code: number }
  /** It never ran. */
  | { readonly how: 'unstarted'; readonly message: string }
  /** Nobody knows: it died while nobody looked, or the record of it is lost. */
  | { readonly how: 'lost' }

export interface Ending {
  readonly why: EndReason
  readonly sinceMs: number
  readonly graceMs: number
  /** The grace is over; its group was killed. */
  readonly isKilled: boolean
}

/** The process of a pod, as the agent finds it. */
export type Run =
  | { readonly state: 'absent' }
  /** On its way; it runs or has ended soon. */
  | { readonly state: 'starting' }
  | {
      readonly state: 'running'
      /** When the agent took up the pod, the pod's `startTime`. */
      readonly acceptedMs: number
      readonly startedMs: number
      readonly isReady: boolean
      readonly said?: Said
      readonly ending: Ending | undefined
    }
  | {
      readonly state: 'ended'
      readonly acceptedMs: number
      readonly startedMs: number | undefined
      readonly finishedMs: number
      readonly exit: Exit
      readonly said?: Said
      readonly ending: Ending | undefined
    }
