// Partitions of a controller's objects among workers: a worker may handle some partitions only. Pure;
// worker/reconciler/task-queues.ts maps partitions to task queues.

import { type Path, type Projection, textAt } from '../kind/projection.ts'

export interface Partitions {
  /**
   * Path of the partition in an object's projection; immutable. An object whose value is not in `names` belongs to no partition: any worker handles
   * it.
   */
  readonly path: Path
  /** All partitions, in order. */
  readonly names: readonly string[]
  /** The worker flag that names its partitions. */
  readonly flag: string
}

/** The partitions that a run handles; absent: all. The field name is part of workflow inputs. */
export interface HandledPartitions {
  readonly serves?: readonly string[]
}

/** The object's partition; undefined when it has none. */
export function partitionOf(lanes: Partitions | undefined, projection: Projection): string | undefined {
  const lane = lanes && textAt(projection, lanes.path)
  return lane !== undefined && lanes?.names.includes(lane) === true ? lane : undefined
}

/** Whether a run with these partitions handles this partition itself. @param serves null and undefined: all. */
export function isPartitionHandled(serves: readonly string[] | null | undefined, lane: string | undefined): boolean {
  return lane === undefined || serves?.includes(lane) !== false
}
