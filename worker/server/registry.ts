// The registry of controllers: what the bridge watches, whom an event concerns, and which run a subject's state asks for. Those in level
// mode are added to Pawl's own by `--controllers` (controllers/load.ts).

import { dataObjectKind } from '../../workflows/landscaper/data-object/kind.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { deployItemRun, deployRoutes } from '../../workflows/landscaper/deploy-item/routes.ts'
import { executionKind } from '../../workflows/landscaper/execution/kind.ts'
import { executionRoutes, executionRun } from '../../workflows/landscaper/execution/routes.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { installationRoutes, installationRun } from '../../workflows/landscaper/installation/routes.ts'
import {
  type ControllerRoutes,
  type LevelController,
  levelRoutes,
  type Projection,
  routeEvent,
  type RoutedEvent,
  type Routing,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import { joinKinds } from './join-kinds.ts'
import { loadControllers } from './load-controllers.ts'

export { controllerFiles } from './load-controllers.ts'

/** What the bridge follows. DataObjects are watched for the read model; nobody is woken by them yet. */
export const watchedKinds: readonly WatchedKind[] = [installationKind, executionKind, deployItemKind, dataObjectKind]

const ROUTES: readonly ControllerRoutes[] = [installationRoutes, executionRoutes, deployRoutes]

/** The kind of each controller's subjects, for routes to dependents. */
export const subjectKinds: Readonly<Record<string, string>> = {
  installation: 'Installation',
  execution: 'Execution',
  deploy: 'DeployItem',
}

/**
 * The run a subject's state asks for; `jobID` undefined: a new one, derived from uid and version. Empty: the one run of the object, in level
 * mode.
 */
export type WantedRun = { readonly jobID: string | undefined; readonly cause: string } | { readonly none: string }

export interface Registry {
  readonly watchedKinds: readonly WatchedKind[]
  readonly subjectKinds: Readonly<Record<string, string>>
  /** Those in level mode. */
  readonly levels: readonly LevelController[]
  readonly route: (event: RoutedEvent) => Routing
  /** @param ownerGone the subject has no controller owner that still exists. */
  readonly wantedRun: (controller: string, projection: Projection, ownerGone: boolean) => WantedRun
}

/**
 * Pawl's own controllers and the given ones.
 *
 * @throws with what was found and expected when two have a name, or two kinds do.
 */
export function createRegistry(levels: readonly LevelController[]): Registry {
  const names = [...Object.keys(subjectKinds), ...levels.map(({ name }) => name)]
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`two controllers are called ${twice}; expected a name of its own for each`)
  const routes = [...ROUTES, ...levels.map(levelRoutes)]
  const isLevel = (controller: string) => levels.some(({ name }) => name === controller)
  return {
    levels,
    watchedKinds: joinKinds(watchedKinds, levels),
    subjectKinds: { ...subjectKinds, ...Object.fromEntries(levels.map(({ name, target }) => [name, target.kind])) },
    route: (event) => routeEvent(routes, event),
    wantedRun: (controller, projection, ownerGone) =>
      isLevel(controller) ? { jobID: '', cause: 'changed' } : ownRun(controller, projection, ownerGone),
  }
}

/** The registry with the controllers of the modules at these paths. @throws as `createRegistry` and `loadControllers`. */
export async function loadRegistry(files: readonly string[]): Promise<Registry> {
  return createRegistry(await loadControllers(files))
}

function ownRun(controller: string, projection: Projection, ownerGone: boolean): WantedRun {
  switch (controller) {
    case 'installation':
      return installationRun(projection)
    case 'execution':
      return executionRun(projection, ownerGone)
    case 'deploy':
      return deployItemRun(projection, ownerGone)
    default:
      return { none: `no controller is called ${controller}` }
  }
}

/** Pawl's own controllers alone. */
export const builtIn: Registry = createRegistry([])

export const routeOf = builtIn.route
