// The task queues of runs. Temporal gives the task of a run to any worker that asks the run's queue, so a queue is asked by workers alone that can run
// all that comes on it: a process that runs all has one, and one for each name that controllers ask for (`settings.queue`); others have one for each controller, and where lanes are shared out, one for what each run is.

import type { UnhandledPartitions } from '../../activities/journal/conditions.ts'
import type { GivenFlags } from '../server/flags.ts'
import type { Controller, Partitions } from '../../workflows/kit/index.ts'

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

// How a worker process shares the subjects of a controller out with others, where a flag says so: it takes those of some lanes, and its runs host
// those alone. Source: docs/adr/0027.

/** Of one controller, what this process serves. */
export interface LaneShare {
  readonly controller: string
  /** The controllers whose runs may host its subjects. */
  readonly hosts: readonly string[]
  readonly lanes: Partitions
  /** In order. */
  readonly served: readonly string[]
}

/**
 * The shares that flags give to this process; none where no flag is given: it serves all.
 *
 * @throws with the flag, what was found and what was expected.
 */
export function laneShares(controllers: Iterable<Controller>, given: GivenFlags): readonly LaneShare[] {
  return [...controllers].flatMap(({ name, partitions: lanes, hostedBy: hosts = [] }) => {
    const text = lanes && given[lanes.flag]
    return lanes === undefined || text === undefined
      ? []
      : [{ controller: name, hosts, lanes, served: servedLanes(text, lanes) }]
  })
}

function servedLanes(text: string, { names: all, flag }: Partitions): readonly string[] {
  const short = (lane: string) => shortLane(lane, all)
  // A whole name is as good.
  const meant = (name: string) => (all.includes(name) ? short(name) : name)
  const named = namedIn(text, { flag, what: 'type', known: all.map(short) }, meant)
  return all.filter((lane) => named.includes(short(lane)))
}

/** What stands behind a lane's last '/', where that is no other lane's. */
export function shortLane(lane: string, all: readonly string[]): string {
  const short = lane.slice(lane.lastIndexOf('/') + 1)
  return all.some((other) => other !== lane && other.endsWith(`/${short}`)) ? lane : short
}

/** What a run of the controller serves of what it may host; undefined: all. */
export function servesOf(shares: readonly LaneShare[], controller: string): readonly string[] | undefined {
  return shares.find(({ hosts }) => hosts.includes(controller))?.served
}

/** What this process leaves to others. */
export function leftLanes(shares: readonly LaneShare[]): readonly UnhandledPartitions[] {
  return shares.flatMap(({ controller, lanes: { path: at, names: all }, served }) => {
    const lanes = all.filter((lane) => !served.includes(lane))
    return lanes.length === 0 ? [] : [{ controller, at, lanes }]
  })
}

// Flags that name what a worker process does, when it leaves the rest to other processes.

/** What a flag names, such as `controller`, and what it may name; undefined: anything. */

export interface Nameable {
  readonly flag: string
  readonly what: string
  readonly known: readonly string[] | undefined
}

/**
 * The controllers in the order in which they are named; undefined without the flag: all.
 *
 * @throws with what was found and what was expected when a name is none of `known` (undefined: any may be), or is there twice.
 */
export function onlyControllers(
  text: string | undefined,
  known: readonly string[] | undefined,
): readonly string[] | undefined {
  return text === undefined ? undefined : namedIn(text, { flag: 'only', what: 'controller', known })
}

/** The names of a list, separated by commas, as they are meant. @throws as `onlyControllers`. */
export function namedIn(
  text: string,
  { flag, what, known }: Nameable,
  meant: (name: string) => string = (name) => name,
): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => known?.includes(meant(name)) === false)
  if (unknown !== undefined && known !== undefined)
    throw new Error(`--${flag} names "${unknown}"; expected ${what}s of ${known.join(', ')}`)
  const twice = names.find((name, index) => names.slice(0, index).some((before) => meant(before) === meant(name)))
  if (twice !== undefined) throw new Error(`--${flag} names "${twice}" twice; expected each ${what} once`)
  return names.map(meant)
}
