// The registry of controllers: what the bridge watches, whom an event concerns, and which run a subject's state asks for. Pawl's own stand in
// workflows/controllers.gen.ts, by wing; those that `--controllers` names are added (load-controllers.ts).

import { CONTROLLERS } from '../../workflows/controllers.gen.ts'
import {
  checkJobQueries,
  type Controller,
  type GroupKind,
  groupKindOf,
  type JobModeController,
  type Partitions,
  type LevelController,
  levelMode,
  type Mode,
  type Projection,
  routeEvent,
  type RoutedEvent,
  type Routing,
  type RunRequest,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import { joinKinds } from './join-kinds.ts'
import { loadControllers } from './load-controllers.ts'
import { switchedOff } from './switches.ts'

export { controllerFiles, loadControllers } from './load-controllers.ts'

export interface Registry {
  /** By name. */
  readonly controllers: ReadonlyMap<string, Controller>
  readonly watchedKinds: readonly WatchedKind[]
  /** The kind of each controller's subjects, for routes to dependents. */
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly modes: Readonly<Record<string, Mode>>
  /** Of the controllers whose subjects workers may share out. */
  readonly lanes: Readonly<Record<string, Partitions>>
  /** Of the controllers whose subjects may be hosted: the controllers whose runs host them. */
  readonly hosts: Readonly<Record<string, readonly string[]>>
  /** The task queues that controllers ask for, by the controller's name. */
  readonly queues: ReadonlyMap<string, string>
  /** Those in level mode. */
  readonly levels: readonly LevelController[]
  readonly route: (event: RoutedEvent) => Routing
  /** @param ownerGone the subject has no controller owner that still exists. */
  readonly wantedRun: (controller: string, projection: Projection, ownerGone: boolean) => RunRequest
}

/** The wings that have controllers. */
export const WINGS: readonly string[] = Object.keys(CONTROLLERS)

/**
 * The controllers of these wings, and the given ones.
 *
 * @param off names of those that are left out. Default: those that somebody has to want.
 * @throws with what was found and expected when two have a name, or two kinds do, when there is no such wing, and when a query is none for
 * its controller's mode.
 */
export function createRegistry(
  added: readonly LevelController[],
  wings: readonly string[] = WINGS,
  off: ReadonlySet<string> = switchedOff({}),
): Registry {
  const own = wings.flatMap(controllersOf).filter(({ name }) => !off.has(name))
  const levels = [...own.filter(isLevel), ...added]
  const inOtherModes = own.filter((one): one is JobModeController => !isLevel(one))
  inOtherModes.forEach(checkJobQueries)
  const all: readonly Controller[] = [...inOtherModes, ...levels.map(levelMode)]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`two controllers are called ${twice}; expected a name of its own for each`)
  const controllers = new Map(all.map((controller) => [controller.name, controller]))
  const routes = all.map((controller) => controller.routes)
  return {
    controllers,
    levels,
    queues: new Map(
      levels.flatMap(({ name, settings }) => (settings?.queue === undefined ? [] : [[name, settings.queue] as const])),
    ),
    watchedKinds: joinKinds([...new Set(inOtherModes.flatMap(({ watches }) => watches))], levels),
    subjectKinds: Object.fromEntries(all.map(({ name, target }) => [name, groupKindOf(target)])),
    modes: Object.fromEntries(all.map(({ name, mode }) => [name, mode])),
    lanes: Object.fromEntries(
      all.flatMap(({ name, partitions: lanes }) => (lanes === undefined ? [] : [[name, lanes] as const])),
    ),
    hosts: Object.fromEntries(
      all.flatMap(({ name, hostedBy }) => (hostedBy === undefined ? [] : [[name, hostedBy] as const])),
    ),
    route: (event) => routeEvent(routes, event),
    wantedRun: (name, projection, ownerGone) =>
      controllers.get(name)?.requestedRun(projection, ownerGone) ?? { none: `no controller is called ${name}` },
  }
}

/** The registry with the controllers of the modules at these paths. @throws as `createRegistry` and `loadControllers`. */
export async function loadRegistry(
  files: readonly string[],
  wings: readonly string[] = WINGS,
  off?: ReadonlySet<string>,
): Promise<Registry> {
  return createRegistry(await loadControllers(files), wings, off)
}

/** The wing that a controller is of; undefined for one of a user's. */
export function wingOf(controller: string): string | undefined {
  return WINGS.find((wing) => controllersOf(wing).some(({ name }) => name === controller))
}

function controllersOf(wing: string): readonly (JobModeController | LevelController)[] {
  const found = Object.hasOwn(CONTROLLERS, wing) ? CONTROLLERS[wing] : undefined
  if (found === undefined) throw new Error(`no wing is called "${wing}"; expected one of ${WINGS.join(', ')}`)
  return found
}

function isLevel(controller: JobModeController | LevelController): controller is LevelController {
  return !('mode' in controller)
}

/** Pawl's own controllers alone. */
export const builtIn: Registry = createRegistry([])
