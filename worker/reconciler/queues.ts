// The task queues of runs. Temporal gives the task of a run to any worker that asks the run's queue, so a queue is asked by workers alone that can run
// all that comes on it: a process that runs all has one, and one for each name that controllers ask for (`settings.queue`); others have one for each controller, and where lanes are shared out, one for what each run is.

import { type LaneShare, shortLane } from './lanes.ts'

export interface Queues {
  /** The queue, or the beginning of the queues' names. */
  readonly taskQueue: string
  /** The controllers that this process runs, on queues of their own; undefined: all that it knows. */
  readonly controllers: readonly string[] | undefined
  /** By controller, the names of the queues that controllers ask for; a process that runs some controllers only has one for each of them anyway. */
  readonly named?: ReadonlyMap<string, string> | undefined
  /** Of controllers whose subjects it shares with others; then `controllers` are named. Absent: it serves all lanes. */
  readonly shares?: readonly LaneShare[] | undefined
}

/** The task queue of a run. @param lane of its subject; one that is in none may be on any queue of its controller. */
export function queueOf(queues: Queues, controller: string, lane?: string): string {
  const share = shareOf(queues, controller)
  if (share?.controller === controller && lane !== undefined) return laneQueue(queues, share, lane)
  const [queue = queues.taskQueue] = queuesOf(queues, controller)
  return queue
}

/** The task queues of a controller's runs that this process serves. */
export function queuesOf(queues: Queues, controller: string): readonly string[] {
  const { taskQueue, controllers, named } = queues
  const share = shareOf(queues, controller)
  if (share?.controller === controller) return share.served.map((lane) => laneQueue(queues, share, lane))
  if (share === undefined && controllers === undefined) return [namedQueue(taskQueue, named?.get(controller))]
  if (share === undefined) return [`${taskQueue}-${controller}`]
  // Its runs host these, and no others.
  const hosted = share.served.map((lane) => shortLane(lane, share.lanes.names))
  return [`${taskQueue}-${controller}-${hosted.join('+')}`]
}

/** All task queues that this process serves. */
export function allQueues(queues: Queues): readonly string[] {
  const { taskQueue, controllers, named = new Map<string, string>() } = queues
  if (controllers !== undefined) return controllers.flatMap((controller) => queuesOf(queues, controller))
  return [taskQueue, ...[...new Set(named.values())].map((name) => namedQueue(taskQueue, name))]
}

/** Behind a dot, which no controller has in its name. */
function namedQueue(taskQueue: string, name: string | undefined): string {
  return name === undefined ? taskQueue : `${taskQueue}.${name}`
}

function laneQueue({ taskQueue }: Queues, { controller, lanes }: LaneShare, lane: string): string {
  return `${taskQueue}-${controller}-${shortLane(lane, lanes.names)}`
}

function shareOf({ shares = [] }: Queues, controller: string): LaneShare | undefined {
  return shares.find((share) => share.controller === controller || share.hosts.includes(controller))
}
