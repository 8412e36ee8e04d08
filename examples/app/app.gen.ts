// Generated from app.cm. Do not edit; run `npx pawl gen`.

import { action, type LevelPass, type Outcome, type StateQuery, type Step } from 'pawl/kit'
import type { App } from './kind.ts'
import type { Deployment } from 'pawl/kit/apps/v1'
import type { ConfigMap, Service } from 'pawl/kit/v1'

export interface AppState {
  readonly settings: ConfigMap | undefined
  /** fresh: read again before ReportReadiness, because the pass may have changed it. */
  readonly deployment: Deployment | undefined
  readonly service: Service | undefined
}

export const appQueries = {
  settings: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
  deployment: { kind: 'apps/v1/Deployment', name: '${target.metadata.name}', owned: true, fresh: true },
  service: { kind: 'v1/Service', name: '${target.metadata.name}', owned: true },
} as const satisfies Record<keyof AppState, StateQuery>

/** The created objects have the name of the App. */
export type AppPass = LevelPass<AppState, App>

export interface AppActions {
  /** Keeps the settings in a ConfigMap, without removed ones. */
  applySettings(pass: AppPass, settings: ConfigMap | undefined): Promise<Outcome>
  /** Keeps the Deployment, with 0 Pods during a pause. The next pass is due when a pause begins or ends. */
  applyDeployment(pass: AppPass): Promise<Outcome>
  /** Keeps the Service. A change or deletion of the Service wakes the App. */
  applyService(pass: AppPass, service: Service | undefined): Promise<Outcome>
  /** Reports in the status whether all Pods are up to date and ready. */
  reportReadiness(pass: AppPass, deployment: Deployment | undefined): Promise<Outcome>
  /** Announces the result of a roll-out by an Event and a call to the platform. */
  announce(pass: AppPass): Promise<Outcome>
}

export function appSteps(actions: AppActions): Readonly<Record<keyof AppActions, Step<AppPass>>> {
  return {
    applySettings: action('applySettings', (pass) => actions.applySettings(pass, pass.state.settings)),
    applyDeployment: action('applyDeployment', (pass) => actions.applyDeployment(pass)),
    applyService: action('applyService', (pass) => actions.applyService(pass, pass.state.service)),
    reportReadiness: action('reportReadiness', async (pass) =>
      actions.reportReadiness(pass, await pass.refresh('deployment')),
    ),
    announce: action('announce', (pass) => actions.announce(pass)),
  }
}
