// What a wing hears of its controllers in level mode, from the activities that do it: where something is done again, because an answer was lost, it is heard
// of once at most. For counting; whoever hears throws nothing.

import type { KubeObject } from '../kube/client.ts'

interface Heard {
  readonly controller: string
}

export interface Hearing {
  /** An Event was recorded: by this process, and not before. */
  eventRecorded?(told: Heard & { readonly namespace: string; readonly name: string; readonly reason: string }): void
  passBegan?(told: Heard & { readonly workflowID: string }): void
  passEnded?(told: Heard & { readonly workflowID: string }): void
  /** Fields of the status were written over what was there. */
  statusWritten?(told: Heard & StatusWritten): void
}

export interface StatusWritten {
  readonly before: Readonly<Record<string, unknown>>
  readonly after: KubeObject
}
