// Parts of a controller's subjects that workers share out among themselves: a worker may serve some lanes, and leaves the others to those that do.
// Pure; what a process does with it is in worker/reconciler/task-queues.ts.

import { type Path, type Projection, textAt } from '../kind/projection.ts'

export interface Partitions {
  /** Where of a subject's projection its lane stands. It never changes. A text that is none of `all` is no lane: any worker takes the subject. */
  readonly path: Path
  /** In order. */
  readonly names: readonly string[]
  /** The worker's flag that names the lanes which it serves. */
  readonly flag: string
}

/** What a run serves of what it may host; absent: all lanes. */
export interface HandledPartitions {
  readonly serves?: readonly string[]
}

/** The subject's lane; undefined when it is in none. */
export function partitionOf(lanes: Partitions | undefined, projection: Projection): string | undefined {
  const lane = lanes && textAt(projection, lanes.path)
  return lane !== undefined && lanes?.names.includes(lane) === true ? lane : undefined
}

/** Whether a run that serves these deals itself with what is in the lane. @param serves null and undefined: all. */
export function isPartitionHandled(serves: readonly string[] | null | undefined, lane: string | undefined): boolean {
  return lane === undefined || serves?.includes(lane) !== false
}
