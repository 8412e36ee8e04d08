// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { DeployItem } from './views.ts'

export interface DeployItemObservation {
  readonly target: DeployItem
}

export const deployItemQueries = {} as const satisfies Record<string, StateQuery>

/** Deploys an item that nobody hosts, of a type that is served here. */
export interface DeployItemActions<Pass> {
  /** Gives a job to an item that is being deleted and has no owner left, whatever its type. */
  beginItem(pass: Pass): Outcome | Promise<Outcome>
  /** Puts the finalizer on. */
  guardItem(pass: Pass): Outcome | Promise<Outcome>
  /** Deploys the item, or takes it away; what takes long goes on beside the passes. */
  deployItem(pass: Pass): Outcome | Promise<Outcome>
}

export function deployItemSteps<Pass extends { readonly state: DeployItemObservation }>(
  actions: DeployItemActions<Pass>,
): Readonly<Record<keyof DeployItemActions<Pass>, Step<Pass>>> {
  return {
    beginItem: action('beginItem', (pass) => actions.beginItem(pass)),
    guardItem: action('guardItem', (pass) => actions.guardItem(pass)),
    deployItem: action('deployItem', (pass) => actions.deployItem(pass)),
  }
}
