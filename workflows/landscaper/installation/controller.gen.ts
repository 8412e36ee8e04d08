// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { Execution, Installation } from './views.ts'

export interface InstallationObservation {
  readonly target: Installation
  /** The Execution with its name. An Execution of another owner counts as missing, and is never written. */
  readonly execution: Execution | undefined
  /** The sub-installations of its templates, including those that the blueprint no longer has. */
  readonly subInstallations: readonly Installation[]
}

export const installationQueries = {
  execution: { kind: 'landscaper.gardener.cloud/v1alpha1/Execution', name: '${target.metadata.name}', owned: true },
  subInstallations: {
    kind: 'landscaper.gardener.cloud/v1alpha1/Installation',
    many: true,
    labels: { 'landscaper.gardener.cloud/encompassed-by': '${target.metadata.name}' },
    owned: true,
  },
} as const satisfies Record<string, StateQuery>

/** Renders the blueprint into an Execution and sub-installations, runs them, and publishes the exports; a deletion uninstalls them. */
export interface InstallationActions<Pass> {
  /** Checks the imports, renders the deploy items and sub-installations, and writes the Execution and the sub-installations. */
  applyChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Uninstalls sub-installations that the blueprint no longer has, and waits until they are deleted. */
  cleanUpSubInstallations(pass: Pass, subInstallations: readonly Installation[]): Outcome | Promise<Outcome>
  /** Hands the job down to the sub-installations. */
  triggerSubInstallations(pass: Pass, subInstallations: readonly Installation[]): Outcome | Promise<Outcome>
  /** Ends the job after an interrupt if no child has started it; otherwise interrupts the children. */
  interruptInstallation(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Holds a paused job that has work that has not started. */
  awaitResume(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Ends a job that has not started anything when the Installation is deleted. */
  yieldToDeletion(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Runs the job of the Execution until it has to wait. */
  runExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Waits until all children have finished the job, and fails when one has failed. */
  awaitChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Ends a job whose exports cannot be written when the job is interrupted or the Installation is deleted. */
  abandonExports(pass: Pass): Outcome | Promise<Outcome>
  /** Fails if the spec was edited during the job. */
  checkGeneration(pass: Pass): Outcome | Promise<Outcome>
  /** Publishes the exports, and removes copies of former imports. */
  writeExports(pass: Pass): Outcome | Promise<Outcome>
  /** Waits until all siblings that import its exports are deleted. */
  awaitSuccessors(pass: Pass): Outcome | Promise<Outcome>
  /** Deletes the children, and passes the request to release their items on to children that are being deleted. */
  deleteChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Waits until the children are deleted, then removes the finalizer. */
  awaitDeletion(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Triggers the roots that import its exports, after success and failure. */
  triggerDependents(pass: Pass): Outcome | Promise<Outcome>
}

export function installationSteps<Pass extends { readonly state: InstallationObservation }>(
  actions: InstallationActions<Pass>,
): Readonly<Record<keyof InstallationActions<Pass>, Step<Pass>>> {
  return {
    applyChildren: action('applyChildren', (pass) =>
      actions.applyChildren(pass, pass.state.execution, pass.state.subInstallations),
    ),
    cleanUpSubInstallations: action('cleanUpSubInstallations', (pass) =>
      actions.cleanUpSubInstallations(pass, pass.state.subInstallations),
    ),
    triggerSubInstallations: action('triggerSubInstallations', (pass) =>
      actions.triggerSubInstallations(pass, pass.state.subInstallations),
    ),
    interruptInstallation: action('interruptInstallation', (pass) =>
      actions.interruptInstallation(pass, pass.state.execution, pass.state.subInstallations),
    ),
    awaitResume: action('awaitResume', (pass) =>
      actions.awaitResume(pass, pass.state.execution, pass.state.subInstallations),
    ),
    yieldToDeletion: action('yieldToDeletion', (pass) => actions.yieldToDeletion(pass, pass.state.execution)),
    runExecution: action('runExecution', (pass) => actions.runExecution(pass, pass.state.execution)),
    awaitChildren: action('awaitChildren', (pass) =>
      actions.awaitChildren(pass, pass.state.execution, pass.state.subInstallations),
    ),
    abandonExports: action('abandonExports', (pass) => actions.abandonExports(pass)),
    checkGeneration: action('checkGeneration', (pass) => actions.checkGeneration(pass)),
    writeExports: action('writeExports', (pass) => actions.writeExports(pass)),
    awaitSuccessors: action('awaitSuccessors', (pass) => actions.awaitSuccessors(pass)),
    deleteChildren: action('deleteChildren', (pass) =>
      actions.deleteChildren(pass, pass.state.execution, pass.state.subInstallations),
    ),
    awaitDeletion: action('awaitDeletion', (pass) =>
      actions.awaitDeletion(pass, pass.state.execution, pass.state.subInstallations),
    ),
    triggerDependents: action('triggerDependents', (pass) => actions.triggerDependents(pass)),
  }
}
