// The registry of controllers: what the bridge watches, whom an event concerns, and which run a subject's state asks for.

import { dataObjectKind } from '../workflows/data-object/kind.ts'
import { deployItemKind } from '../workflows/deploy-item/kind.ts'
import { deployItemRun, deployRoutes } from '../workflows/deploy-item/routes.ts'
import { executionKind } from '../workflows/execution/kind.ts'
import { executionRoutes, executionRun } from '../workflows/execution/routes.ts'
import { installationKind } from '../workflows/installation/kind.ts'
import { installationRoutes, installationRun } from '../workflows/installation/routes.ts'
import {
  type ControllerRoutes,
  type Projection,
  routeEvent,
  type RoutedEvent,
  type Routing,
  type WatchedKind,
} from '../workflows/kit/index.ts'

/** What the bridge follows. DataObjects are watched for the read model; nobody is woken by them yet. */
export const watchedKinds: readonly WatchedKind[] = [installationKind, executionKind, deployItemKind, dataObjectKind]

const ROUTES: readonly ControllerRoutes[] = [installationRoutes, executionRoutes, deployRoutes]

export function routeOf(event: RoutedEvent): Routing {
  return routeEvent(ROUTES, event)
}

/** The kind of each controller's subjects, for routes to dependents. */
export const subjectKinds: Readonly<Record<string, string>> = {
  installation: 'Installation',
  execution: 'Execution',
  deploy: 'DeployItem',
}

/** The run a subject's state asks for; `jobID` undefined: a new one, derived from uid and version. */
export type WantedRun = { readonly jobID: string | undefined; readonly cause: string } | { readonly none: string }

/** @param ownerGone the subject has no controller owner that still exists. */
export function wantedRun(controller: string, projection: Projection, ownerGone: boolean): WantedRun {
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
