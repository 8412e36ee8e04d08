// Hooks with which a wing counts what its level-mode controllers do. The activities call them. An action that is repeated because its answer was lost is
// reported at most once. Hooks do not throw.

import type { KubeObject } from '../kube/client.ts'

interface ControllerEvent {
  readonly controller: string
}

export interface ControllerObserver {
  /** This process created a Kubernetes Event, or increased its count. */
  eventRecorded?(
    event: ControllerEvent & { readonly namespace: string; readonly name: string; readonly reason: string },
  ): void
  passBegan?(event: ControllerEvent & { readonly workflowID: string }): void
  passEnded?(event: ControllerEvent & PassEnd): void
  /** The controller changed fields of the status. */
  statusWritten?(event: ControllerEvent & StatusWrite): void
}

export interface PassEnd {
  readonly workflowID: string
  readonly namespace: string
  readonly name: string
  /** The code of the error that ended the pass. */
  readonly fault: string | undefined
}

export interface StatusWrite {
  readonly before: Readonly<Record<string, unknown>>
  readonly after: KubeObject
}
