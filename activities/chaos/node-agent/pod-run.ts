// The process of a pod, as its keeper (pod-keeper.ts) has it.

import type { EndReason, Run } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import type { SeenPod } from './read-pod.ts'

export interface PodRun {
  /** How it is now. Never starts or ends anything. */
  look(nowMs: number): Promise<Run>
  /** Starts it; done twice, it runs once. @throws for what may work later. */
  start(pod: SeenPod, nowMs: number): Promise<void>
  /** Tells it to end. */
  terminate(why: EndReason, graceMs: number, nowMs: number): Promise<void>
  kill(nowMs: number): Promise<void>
  /** Undoes what it may have left, and forgets it. @throws when that did not work. */
  sweep(): Promise<void>
  /** After how long it looks different without a nudge; undefined: never. */
  readonly lookEveryMs: number | undefined
}
