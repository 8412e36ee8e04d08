// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { Execution, Installation } from './views.ts'

export interface InstallationObservation {
  readonly target: Installation
  /** The Execution of its name. One that belongs to somebody else counts as none here, and refuses to be written. */
  readonly execution: Execution | undefined
}

export const installationQueries = {
  execution: { kind: 'landscaper.gardener.cloud/v1alpha1/Execution', name: '${target.metadata.name}', owned: true },
} as const satisfies Record<string, StateQuery>

/** Renders the blueprint into an Execution, has it run, and publishes what it exports; in deletion it takes the Execution away. */
export interface InstallationActions<Pass> {
  /** Checks the imports, renders the deploy items from them, and writes the Execution. */
  applyExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Ends the job on an interrupt where the Execution has none of it yet. */
  interruptInstallation(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Runs the job of the Execution, as far as it comes without waiting. */
  runExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Waits until the Execution has finished the job, and fails when that has failed. */
  awaitExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Fails when the spec was edited while the job ran. */
  checkGeneration(pass: Pass): Outcome | Promise<Outcome>
  /** Publishes what is to be exported, and removes copies of imports that are none any more. */
  writeExports(pass: Pass): Outcome | Promise<Outcome>
  /** Deletes the Execution, or tells one that is being deleted to let its items go. */
  deleteExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Waits until the Execution is gone, then takes the finalizer off. */
  awaitDeletion(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
}

export function installationSteps<Pass extends { readonly state: InstallationObservation }>(
  actions: InstallationActions<Pass>,
): Readonly<Record<keyof InstallationActions<Pass>, Step<Pass>>> {
  return {
    applyExecution: action('applyExecution', (pass) => actions.applyExecution(pass, pass.state.execution)),
    interruptInstallation: action('interruptInstallation', (pass) =>
      actions.interruptInstallation(pass, pass.state.execution),
    ),
    runExecution: action('runExecution', (pass) => actions.runExecution(pass, pass.state.execution)),
    awaitExecution: action('awaitExecution', (pass) => actions.awaitExecution(pass, pass.state.execution)),
    checkGeneration: action('checkGeneration', (pass) => actions.checkGeneration(pass)),
    writeExports: action('writeExports', (pass) => actions.writeExports(pass)),
    deleteExecution: action('deleteExecution', (pass) => actions.deleteExecution(pass, pass.state.execution)),
    awaitDeletion: action('awaitDeletion', (pass) => actions.awaitDeletion(pass, pass.state.execution)),
  }
}
