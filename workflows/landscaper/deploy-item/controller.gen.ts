// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { DeployItem } from './views.ts'

export interface DeployItemObservation {
  readonly target: DeployItem
}

export const deployItemQueries = {} as const satisfies Record<string, StateQuery>

/** Deploys an item that no Execution hosts, if its type is handled here. */
export interface DeployItemActions<Pass> {
  /** Claims the job; creates one for a retry request, and for an item that is being deleted and has no owner. */
  beginItem(pass: Pass): Outcome | Promise<Outcome>
  /** Adds the finalizer. */
  guardItem(pass: Pass): Outcome | Promise<Outcome>
  /** Deploys or uninstalls the item; long work continues in a background activity. */
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
