// Generated from app.cm. Do not edit; run `npx pawl gen`.

import { action, type LevelPass, type Outcome, type StateQuery, type Step } from 'pawl/kit'
import type { App } from './kind.ts'
import type { Deployment } from 'pawl/kit/apps/v1'
import type { ConfigMap, Service } from 'pawl/kit/v1'

export interface AppState {
  readonly settings: ConfigMap | undefined
  /** Read again before it is reported on: the pass may have changed it. */
  readonly deployment: Deployment | undefined
  readonly service: Service | undefined
}

export const appQueries = {
  settings: { kind: 'v1/ConfigMap', name: '${target.metadata.name}', owned: true },
  deployment: { kind: 'apps/v1/Deployment', name: '${target.metadata.name}', owned: true, fresh: true },
  service: { kind: 'v1/Service', name: '${target.metadata.name}', owned: true },
} as const satisfies Record<keyof AppState, StateQuery>

/** What is made of an App has its name. */
export type AppPass = LevelPass<AppState, App>

export interface AppActions {
  /** Keeps the settings in a ConfigMap; those that were taken out go. */
  applySettings(pass: AppPass, settings: ConfigMap | undefined): Promise<Outcome>
  /** Keeps the Deployment, without Pods in a pause, and comes again when that begins or ends. */
  applyDeployment(pass: AppPass): Promise<Outcome>
  /** Keeps the Service; one that is changed or gone wakes the App. */
  applyService(pass: AppPass, service: Service | undefined): Promise<Outcome>
  /** Tells in the status whether all Pods are there, and as wanted. */
  reportReadiness(pass: AppPass, deployment: Deployment | undefined): Promise<Outcome>
  /** Tells people and the platform when all Pods are there, a pause is on, or a roll-out is stuck. */
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
