// The task queues of runs. Temporal gives the tasks of a queue to any worker that polls it, so all workers of a queue must be able to run all of its
// workflows. A process that runs all controllers has one queue, and one for each name in `settings.queue` of a controller. Other processes have one queue
// for each controller, or one for each partition of a controller.

import type { UnhandledPartitions } from '../../activities/journal/conditions.ts'
import type { GivenFlags } from '../server/flags.ts'
import type { Controller, Partitions } from '../../workflows/kit/index.ts'

export interface TaskQueues {
  /** The name of the queue, or the prefix of the names. */
  readonly taskQueue: string
  /** The controllers that this process runs, each on its own queue; undefined: all that it knows. */
  readonly controllers: readonly string[] | undefined
  /** The queue names that controllers request, by controller. Unused where `controllers` is set, because each controller has a queue then. */
  readonly named?: ReadonlyMap<string, string> | undefined
  /** The partitions of controllers that this process shares with others; then `controllers` is set. Absent: the process handles all partitions. */
  readonly shares?: readonly PartitionShare[] | undefined
}

/** The task queue of a run. @param lane the partition of its subject; a subject outside all partitions may be on any queue of its controller. */
export function taskQueueOf(queues: TaskQueues, controller: string, lane?: string): string {
  const share = shareOf(queues, controller)
  if (share?.controller === controller && lane !== undefined) return partitionQueue(queues, share, lane)
  const [queue = queues.taskQueue] = taskQueuesOf(queues, controller)
  return queue
}

/** The task queues of a controller's runs that this process polls. */
export function taskQueuesOf(queues: TaskQueues, controller: string): readonly string[] {
  const { taskQueue, controllers, named } = queues
  const share = shareOf(queues, controller)
  if (share?.controller === controller) return share.handled.map((name) => partitionQueue(queues, share, name))
  if (share === undefined && controllers === undefined) return [namedQueue(taskQueue, named?.get(controller))]
  if (share === undefined) return [`${taskQueue}-${controller}`]
  // Its runs host the subjects of these partitions only.
  const hosted = share.handled.map((name) => shortPartition(name, share.partitions.names))
  return [`${taskQueue}-${controller}-${hosted.join('+')}`]
}

/** All task queues that this process polls. */
export function allTaskQueues(queues: TaskQueues): readonly string[] {
  const { taskQueue, controllers, named = new Map<string, string>() } = queues
  if (controllers !== undefined) return controllers.flatMap((controller) => taskQueuesOf(queues, controller))
  return [taskQueue, ...[...new Set(named.values())].map((name) => namedQueue(taskQueue, name))]
}

/** A dot separates the name, because names of controllers contain no dot. */
function namedQueue(taskQueue: string, name: string | undefined): string {
  return name === undefined ? taskQueue : `${taskQueue}.${name}`
}

function partitionQueue({ taskQueue }: TaskQueues, { controller, partitions }: PartitionShare, name: string): string {
  return `${taskQueue}-${controller}-${shortPartition(name, partitions.names)}`
}

function shareOf({ shares = [] }: TaskQueues, controller: string): PartitionShare | undefined {
  return shares.find((share) => share.controller === controller || share.hosts.includes(controller))
}

// Partitions: a flag restricts a worker to some partitions of a controller's subjects, and its runs host these only. Other workers handle all others.
// Source: docs/adr/0027.

/** The partitions of one controller that this process handles. */
export interface PartitionShare {
  readonly controller: string
  /** The controllers whose runs may host its subjects. */
  readonly hosts: readonly string[]
  readonly partitions: Partitions
  /** The names of the handled partitions, in the order of all partitions. */
  readonly handled: readonly string[]
}

/**
 * The partitions that flags select; empty without such flags: the process handles all partitions.
 *
 * @throws with the flag, the actual value and the expected value.
 */
export function partitionShares(controllers: Iterable<Controller>, given: GivenFlags): readonly PartitionShare[] {
  return [...controllers].flatMap(({ name, partitions, hostedBy: hosts = [] }) => {
    const text = partitions && given[partitions.flag]
    return partitions === undefined || text === undefined
      ? []
      : [{ controller: name, hosts, partitions, handled: parsePartitions(text, partitions) }]
  })
}

function parsePartitions(text: string, { names: all, flag }: Partitions): readonly string[] {
  const short = (name: string) => shortPartition(name, all)
  // Full names are accepted, too.
  const meant = (name: string) => (all.includes(name) ? short(name) : name)
  const named = parseNames(text, { flag, what: 'type', known: all.map(short) }, meant)
  return all.filter((name) => named.includes(short(name)))
}

/** The part after the last '/', if no other partition has the same. */
export function shortPartition(name: string, all: readonly string[]): string {
  const short = name.slice(name.lastIndexOf('/') + 1)
  return all.some((other) => other !== name && other.endsWith(`/${short}`)) ? name : short
}

/** The types that runs of this controller may host; undefined: all. */
export function handledTypesOf(shares: readonly PartitionShare[], controller: string): readonly string[] | undefined {
  return shares.find(({ hosts }) => hosts.includes(controller))?.handled
}

/** The partitions that this process leaves to others. */
export function excludedPartitions(shares: readonly PartitionShare[]): readonly UnhandledPartitions[] {
  return shares.flatMap(({ controller, partitions: { path: at, names }, handled }) => {
    const lanes = names.filter((name) => !handled.includes(name))
    return lanes.length === 0 ? [] : [{ controller, at, lanes }]
  })
}

// Parsers of flags that list names.

/** The kind of name that a flag takes, such as `controller`, and the valid names; undefined: every name is valid. */
export interface Nameable {
  readonly flag: string
  readonly what: string
  readonly known: readonly string[] | undefined
}

/**
 * The controllers in the order of the flag; undefined without the flag: all.
 *
 * @throws with the actual and the expected value if a name is unknown or repeated.
 */
export function parseControllers(
  text: string | undefined,
  known: readonly string[] | undefined,
): readonly string[] | undefined {
  return text === undefined ? undefined : parseNames(text, { flag: 'only', what: 'controller', known })
}

/** The names in a comma-separated list, in canonical form. @throws as `parseControllers`. */
export function parseNames(
  text: string,
  { flag, what, known }: Nameable,
  meant: (name: string) => string = (name) => name,
): readonly string[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => known?.includes(meant(name)) === false)
  if (unknown !== undefined && known !== undefined)
    throw new Error(`--${flag}: found "${unknown}"; expected ${what}s of ${known.join(', ')}`)
  const twice = names.find((name, index) => names.slice(0, index).some((before) => meant(before) === meant(name)))
  if (twice !== undefined) throw new Error(`--${flag}: found "${twice}" twice; expected each ${what} once`)
  return names.map(meant)
}
