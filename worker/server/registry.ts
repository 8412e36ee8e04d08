// The registry of controllers: the kinds to watch, the subjects of an event, and the run that a subject requests. The built-in controllers are in
// workflows/controllers.gen.ts, by wing; controllers of `--controllers` are added (load-controllers.ts).

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
  type LevelDeclaration,
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
  /** The partitions of controllers that have some. */
  readonly lanes: Readonly<Record<string, Partitions>>
  /** For controllers with hosted subjects: the controllers whose runs host them. */
  readonly hosts: Readonly<Record<string, readonly string[]>>
  /** The task queues that controllers request, by controller name. */
  readonly queues: ReadonlyMap<string, string>
  /** The controllers in level mode. */
  readonly levels: readonly LevelDeclaration[]
  readonly route: (event: RoutedEvent) => Routing
  /** @param ownerGone the subject has no controller owner that still exists. */
  readonly wantedRun: (controller: string, projection: Projection, ownerGone: boolean) => RunRequest
}

/** All wings, in alphabetical order. A wing without controllers has only kinds and admission rules. */
export const WINGS: readonly string[] = [...new Set([...Object.keys(CONTROLLERS), ...Object.keys(WING_VALUES)])].sort()

/**
 * The registry of these wings' controllers and the added ones.
 *
 * @param off names of controllers to leave out. Default: those that need a flag.
 * @throws with the actual and the expected value if two controllers or kinds have the same name, a wing does not exist, or a query does not fit its
 * controller's mode.
 */
export function createRegistry(
  added: readonly LevelDeclaration[],
  wings: readonly string[] = WINGS,
  off: ReadonlySet<string> = disabledControllers({}),
): Registry {
  const own = wings.flatMap(controllersOf).filter(({ name }) => !off.has(name))
  const levels = [...own.filter(isLevel), ...added]
  const jobModeControllers = own.filter((one): one is JobModeController => !isLevel(one))
  jobModeControllers.forEach(checkJobQueries)
  const all: readonly Controller[] = [...jobModeControllers, ...levels.map(levelMode)]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined)
    throw new Error(`two controllers have the name ${twice}; give each controller a different name`)
  const controllers = new Map(all.map((controller) => [controller.name, controller]))
  const routes = all.map((controller) => controller.routes)
  return {
    controllers,
    levels,
    queues: new Map(
      levels.flatMap(({ name, settings }) => (settings?.queue === undefined ? [] : [[name, settings.queue] as const])),
    ),
    watchedKinds: joinKinds([...new Set(jobModeControllers.flatMap(({ watches }) => watches))], levels),
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
      controllers.get(name)?.requestedRun(projection, ownerGone) ?? { none: `unknown controller ${name}` },
  }
}

/** The registry with the controllers of these modules. @throws as `createRegistry` and `loadControllers`. */
export async function loadRegistry(
  files: readonly string[],
  wings: readonly string[] = WINGS,
  off?: ReadonlySet<string>,
): Promise<Registry> {
  return createRegistry(await loadControllers(files), wings, off)
}

/** The wing of a controller; undefined for a controller of a user. */
export function wingOf(controller: string): string | undefined {
  return WINGS.find((wing) => controllersOf(wing).some(({ name }) => name === controller))
}

function controllersOf(wing: string): readonly (JobModeController | LevelDeclaration)[] {
  if (!WINGS.includes(wing)) throw new Error(`unknown wing "${wing}"; expected one of ${WINGS.join(', ')}`)
  return CONTROLLERS[wing] ?? []
}

function isLevel(controller: JobModeController | LevelDeclaration): controller is LevelDeclaration {
  return !('mode' in controller)
}

/** The registry of the built-in controllers alone. */
export const builtInRegistry: Registry = createRegistry([])

// The kinds that the bridge watches, each once: kinds of the built-in controllers and of controllers in level mode.

/**
 * Joins the declarations of all controllers for one kind: its paths, and the objects that any controller selects. Kinds of the built-in controllers stay
 * unchanged, because the journal must get the same fields from a write as from the watch.
 *
 * @throws if two declarations differ in version: the journal has one state of each object.
 */
export function joinKinds(own: readonly WatchedKind[], levels: readonly LevelDeclaration[]): readonly WatchedKind[] {
  const kinds = new Map(own.map((kind) => [nameOf(kind), kind]))
  for (const level of levels) {
    for (const kind of levelKinds(level)) {
      const name = nameOf(kind)
      const known = kinds.get(name)
      if (known !== undefined && known.apiVersion !== kind.apiVersion)
        throw new Error(versionConflict(level, kind, known))
      if (known === undefined) kinds.set(name, kind)
      else if (!own.includes(known)) kinds.set(name, joinKind(known, kind))
    }
  }
  return [...kinds.values()]
}

function nameOf(kind: WatchedKind): string {
  return groupKindText(groupKindOf(kind))
}

function versionConflict({ name }: LevelDeclaration, found: WatchedKind, known: WatchedKind): string {
  const others = `another controller uses ${known.apiVersion} of kind ${nameOf(found)}`
  return `controller ${name}: found kind ${found.apiVersion}/${found.kind}, but ${others}; use the same version in all controllers`
}

/** All objects are watched if the controllers select different ones. */
function joinKind({ fields, ...known }: WatchedKind, kind: WatchedKind): WatchedKind {
  const same = fields !== undefined && isSameFields(fields, kind.fields) ? { fields } : {}
  const keys = [known.indexKeys, kind.indexKeys].flatMap((one) => one ?? [])
  const indexKeys = keys.length === 0 ? {} : { indexKeys: { fields: distinct(keys.flatMap((one) => one.fields)) } }
  return { ...known, ...same, ...indexKeys, projection: union(known.projection, kind.projection) }
}

function distinct(fields: readonly string[]): readonly string[] {
  return [...new Set(fields)].sort()
}

function union(left: readonly Path[], right: readonly Path[]): readonly Path[] {
  const texts = new Set(left.map((path) => path.join(' ')))
  return [...left, ...right.filter((path) => !texts.has(path.join(' ')))]
}

// Controllers that a flag enables. The wings declare them in wing.ts.

type Wings = Readonly<Record<string, Pick<Wing, 'flags' | 'switches'>>>

/** The names of the controllers that these flags leave disabled. */
export function disabledControllers(given: GivenFlags, wings: Wings = WING_VALUES): ReadonlySet<string> {
  const off = Object.values(wings).flatMap(({ flags, switches = {} }) =>
    Object.entries(switches).flatMap(([controller, flag]) => (isYes(flags, flag, given) ? [] : [controller])),
  )
  return new Set(off)
}

/** The flags that enable controllers; bridge and worker have the same. */
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
