// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { DeployItem, Execution } from './views.ts'

export interface ExecutionObservation {
  readonly target: Execution
  /** All its deploy items, including those that its spec no longer names. */
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

/** Runs the graph of its deploy items, each after its dependencies; a deletion uninstalls them in reverse order. */
export interface ExecutionActions<Pass> {
  /** Fails if the items of the spec are invalid, before anything is written. */
  checkItems(pass: Pass): Outcome | Promise<Outcome>
  /** Holds a paused job that has not started anything. */
  awaitResume(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Adds the finalizer. */
  guardExecution(pass: Pass): Outcome | Promise<Outcome>
  /** Writes the deploy items of the spec, and deletes those that it no longer names. */
  applyDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Names in a condition the items that wait for deployers outside of this run. */
  nameDeployers(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Ends all unfinished items after an interrupt. */
  interruptItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Fails items that no deployer picked up before the timeout. */
  endUnclaimedItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Ends items that a user has skipped as succeeded. */
  skipItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Fails if an edit during the job has made the items invalid, after running items have finished. */
  checkEdits(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Uninstalls items that the spec no longer names, and waits until they are deleted. */
  cleanUpOrphans(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Starts the items whose predecessors have finished, level after level, and waits for running ones. */
  triggerDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Schedules a pass for the time at which the first waiting item exceeds the pickup timeout. */
  awaitPickup(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Writes the exports of the items into one DataObject. */
  collectExports(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Deletes all items; their finalizers keep them until they are triggered. */
  deleteDeployItems(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Uninstalls items whose successors are deleted, and waits for running ones. */
  triggerDeletion(pass: Pass, deployItems: readonly DeployItem[]): Outcome | Promise<Outcome>
  /** Removes the finalizer. */
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
