// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { DeployItem } from './views.ts'

export interface DeployGroupObservation {
  /** Of the items with this label those of built-in types that have the job ID, finished or not. */
  readonly deployItems: readonly DeployItem[]
}

export const deployGroupQueries = {
  deployItems: {
    kind: 'landscaper.gardener.cloud/v1alpha1/DeployItem',
    many: true,
    labels: { 'execution.landscaper.gardener.cloud/managed-by': '${target.metadata.name}' },
    owned: true,
  },
} as const satisfies Record<string, StateQuery>

/**
 * Deploys the items of one Execution that have the group's job ID and are of a type that Pawl deploys itself. An item without
 * Execution is a group of its own.
 */
export interface DeployGroupActions<Pass> {
  /** Gives a job to an item that is being deleted and has no owner left, whatever its type. */
  beginItem(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Deploys, or takes away, what has not finished; what takes long goes on beside the passes. */
  deployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
}

export function deployGroupSteps<Pass extends { readonly state: DeployGroupObservation }>(
  actions: DeployGroupActions<Pass>,
): Readonly<Record<keyof DeployGroupActions<Pass>, Step<Pass>>> {
  return {
    beginItem: action('beginItem', (pass) => actions.beginItem(pass, pass.state.deployItems)),
    deployItems: action('deployItems', (pass) => actions.deployItems(pass, pass.state.deployItems)),
  }
}
