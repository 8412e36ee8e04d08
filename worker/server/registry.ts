// The registry of controllers: what the bridge watches, whom an event concerns, and which run a subject's state asks for. Pawl's own stand in
// workflows/controllers.gen.ts, by wing; those that `--controllers` names are added (load-controllers.ts).

import type { GivenFlags } from './flags.ts'
import { loadControllers } from './load-controllers.ts'
import { CONTROLLERS } from '../../workflows/controllers.gen.ts'
import {
  checkJobQueries,
  type Controller,
  type FlagTable,
  type GroupKind,
  groupKindOf,
  groupKindText,
  isSameFields,
  type JobModeController,
  type Partitions,
  type LevelController,
  levelKinds,
  levelMode,
  type Mode,
  type Path,
  type Projection,
  type RoutedEvent,
  routeEvent,
  type Routing,
  type RunRequest,
  type WatchedKind,
  type Wing,
} from '../../workflows/kit/index.ts'
import { WINGS as WING_VALUES } from '../../workflows/wings.gen.ts'

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

// The kinds that the bridge follows for Pawl's own controllers and for those in level mode, each once.

/**
 * A kind that several controllers name is followed once, with the paths of all of them and the objects that any of them wants. Pawl's own kinds stay as they are: what its writes
 * tell the journal of them has to be what the watch tells.
 *
 * @throws when two kinds differ in version only: of each object the journal knows one state.
 */
export function joinKinds(own: readonly WatchedKind[], levels: readonly LevelController[]): readonly WatchedKind[] {
  const kinds = new Map(own.map((kind) => [nameOf(kind), kind]))
  for (const level of levels) {
    for (const kind of levelKinds(level)) {
      const name = nameOf(kind)
      const known = kinds.get(name)
      if (known !== undefined && known.apiVersion !== kind.apiVersion) throw new Error(clash(level, kind, known))
      if (known === undefined) kinds.set(name, kind)
      else if (!own.includes(known)) kinds.set(name, joined(known, kind))
    }
  }
  return [...kinds.values()]
}

function nameOf(kind: WatchedKind): string {
  return groupKindText(groupKindOf(kind))
}

function clash({ name }: LevelController, found: WatchedKind, known: WatchedKind): string {
  const others = `kind ${nameOf(found)} is followed in ${known.apiVersion} for another controller`
  return `controller ${name} names kind ${found.apiVersion}/${found.kind}, but ${others}; expected one version of each kind`
}

/** All objects are followed where the controllers do not mean the same of them. */
function joined({ fields, ...known }: WatchedKind, kind: WatchedKind): WatchedKind {
  const same = fields !== undefined && isSameFields(fields, kind.fields) ? { fields } : {}
  const traits = [known.indexKeys, kind.indexKeys].flatMap((one) => one ?? [])
  const asked = traits.length === 0 ? {} : { indexKeys: { fields: distinct(traits.flatMap((one) => one.fields)) } }
  return { ...known, ...same, ...asked, projection: union(known.projection, kind.projection) }
}

function distinct(fields: readonly string[]): readonly string[] {
  return [...new Set(fields)].sort()
}

function union(left: readonly Path[], right: readonly Path[]): readonly Path[] {
  const texts = new Set(left.map((path) => path.join(' ')))
  return [...left, ...right.filter((path) => !texts.has(path.join(' ')))]
}

// The controllers that a flag switches on: which are off, and the flags. What each wing says of it stands in its wing.ts.

type Wings = Readonly<Record<string, Pick<Wing, 'flags' | 'switches'>>>

/** The names of the controllers that are off, by what a process is given. */
export function switchedOff(given: GivenFlags, wings: Wings = WING_VALUES): ReadonlySet<string> {
  const off = Object.values(wings).flatMap(({ flags, switches = {} }) =>
    Object.entries(switches).flatMap(([controller, flag]) => (isYes(flags, flag, given) ? [] : [controller])),
  )
  return new Set(off)
}

/** The flags: those of wings that the bridge has, too. */
export const SWITCH_FLAGS: FlagTable = Object.fromEntries(
  Object.values(WING_VALUES).flatMap(({ flags, switches = {} }: Pick<Wing, 'flags' | 'switches'>) =>
    Object.values(switches).flatMap((name) => {
      const flag = flags[name]
      return flag === undefined ? [] : [[name, flag] as const]
    }),
  ),
)

function isYes(flags: FlagTable, name: string, given: GivenFlags): boolean {
  const flag = flags[name]
  return (given[name] ?? (flag !== undefined && 'otherwise' in flag ? flag.otherwise : undefined)) === 'yes'
}
