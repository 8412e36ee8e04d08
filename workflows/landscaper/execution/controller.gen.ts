// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { DeployItem, Execution } from './views.ts'

export interface ExecutionObservation {
  readonly target: Execution
  /** All deploy items that it has, also those that its spec no longer names. */
  readonly deployItems: readonly DeployItem[]
}

export const executionQueries = {
  deployItems: {
    kind: 'landscaper.gardener.cloud/v1alpha1/DeployItem',
    many: true,
    labels: { 'execution.landscaper.gardener.cloud/managed-by': '${target.metadata.name}' },
    owned: true,
  },
} as const satisfies Record<string, StateQuery>

/** Runs the graph of its deploy items, each when those that it depends on have finished; in deletion the other way round. */
export interface ExecutionActions<Pass> {
  /** Fails when the items of the spec cannot work, before anything is written. */
  checkItems(pass: Pass): Outcome | Promise<Outcome>
  /** Holds a paused job back that has begun nothing yet. */
  awaitResume(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Puts the finalizer on. */
  guardExecution(pass: Pass): Outcome | Promise<Outcome>
  /** Writes the deploy items as the spec has them, and deletes those that it no longer names. */
  applyDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Says in a condition which items wait for deployers that are not part of Pawl. */
  nameDeployers(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Ends all items that have not finished, when an interrupt is asked for. */
  interruptItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Ends items that no deployer has taken up in time. */
  endUnclaimedItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Ends as succeeded what somebody has left out. */
  skipItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Fails when an edit during the job has made the items unable to work; items that run are left to finish first. */
  checkEdits(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Has items that the spec no longer names uninstalled, and waits until they are gone. */
  cleanUpOrphans(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Brings to work the items whose predecessors have finished, level after level, and waits for those that run. */
  triggerDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Wants another pass when the first item will have waited too long for its deployer. */
  awaitPickup(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Makes one DataObject of what the items export. */
  collectExports(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Deletes all items; their finalizers hold them until they are triggered. */
  deleteDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Has items taken away whose successors are gone, and waits for those that run. */
  triggerDeletion(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Takes the finalizer off. */
  releaseExecution(pass: Pass): Outcome | Promise<Outcome>
}

export function executionSteps<Pass extends { readonly state: ExecutionObservation }>(
  actions: ExecutionActions<Pass>,
): Readonly<Record<keyof ExecutionActions<Pass>, Step<Pass>>> {
  return {
    checkItems: action('checkItems', (pass) => actions.checkItems(pass)),
    awaitResume: action('awaitResume', (pass) => actions.awaitResume(pass, pass.state.deployItems)),
    guardExecution: action('guardExecution', (pass) => actions.guardExecution(pass)),
    applyDeployItems: action('applyDeployItems', (pass) => actions.applyDeployItems(pass, pass.state.deployItems)),
    nameDeployers: action('nameDeployers', (pass) => actions.nameDeployers(pass, pass.state.deployItems)),
    interruptItems: action('interruptItems', (pass) => actions.interruptItems(pass, pass.state.deployItems)),
    endUnclaimedItems: action('endUnclaimedItems', (pass) => actions.endUnclaimedItems(pass, pass.state.deployItems)),
    skipItems: action('skipItems', (pass) => actions.skipItems(pass, pass.state.deployItems)),
    checkEdits: action('checkEdits', (pass) => actions.checkEdits(pass, pass.state.deployItems)),
    cleanUpOrphans: action('cleanUpOrphans', (pass) => actions.cleanUpOrphans(pass, pass.state.deployItems)),
    triggerDeployItems: action('triggerDeployItems', (pass) =>
      actions.triggerDeployItems(pass, pass.state.deployItems),
    ),
    awaitPickup: action('awaitPickup', (pass) => actions.awaitPickup(pass, pass.state.deployItems)),
    collectExports: action('collectExports', (pass) => actions.collectExports(pass, pass.state.deployItems)),
    deleteDeployItems: action('deleteDeployItems', (pass) => actions.deleteDeployItems(pass, pass.state.deployItems)),
    triggerDeletion: action('triggerDeletion', (pass) => actions.triggerDeletion(pass, pass.state.deployItems)),
    releaseExecution: action('releaseExecution', (pass) => actions.releaseExecution(pass)),
  }
}
