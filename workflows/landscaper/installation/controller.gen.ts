// Generated from controller.cm. Do not edit; run `npx pawl gen`.

import { action, type Outcome, type StateQuery, type Step } from '../../kit/index.ts'
import type { Execution, Installation } from './views.ts'

export interface InstallationObservation {
  readonly target: Installation
  /** The Execution of its name. One that belongs to somebody else counts as none here, and refuses to be written. */
  readonly execution: Execution | undefined
  /** Those that it has made of its blueprint's templates, also where the blueprint no longer has them. */
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

/** Renders the blueprint into an Execution and sub-installations, has them run, and publishes what it exports; in deletion it takes them away. */
export interface InstallationActions<Pass> {
  /** Checks the imports, renders deploy items and sub-installations from them, and writes those and the Execution. */
  applyChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Has sub-installations taken away that the blueprint no longer has, and waits until they are gone. */
  cleanUpSubInstallations(pass: Pass, subInstallations: readonly Installation[]): Outcome | Promise<Outcome>
  /** Hands the job to the sub-installations. */
  triggerSubInstallations(pass: Pass, subInstallations: readonly Installation[]): Outcome | Promise<Outcome>
  /** Ends the job on an interrupt where no child has any of it yet; else the children's. */
  interruptInstallation(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Holds a paused job back where something of it is still to begin. */
  awaitResume(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Ends a job that has not begun anything when the Installation is deleted. */
  yieldToDeletion(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Runs the job of the Execution, as far as it comes without waiting. */
  runExecution(pass: Pass, execution: Execution | undefined): Outcome | Promise<Outcome>
  /** Waits until all children have finished the job, and fails when one has failed. */
  awaitChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Fails when the spec was edited while the job ran. */
  checkGeneration(pass: Pass): Outcome | Promise<Outcome>
  /** Publishes what is to be exported, and removes copies of imports that are none any more. */
  writeExports(pass: Pass): Outcome | Promise<Outcome>
  /** Waits until no sibling is there that imports what is exported. */
  awaitSuccessors(pass: Pass): Outcome | Promise<Outcome>
  /** Deletes the children, or tells those that are being deleted to let their items go. */
  deleteChildren(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Waits until the children are gone, then takes the finalizer off. */
  awaitDeletion(
    pass: Pass,
    execution: Execution | undefined,
    subInstallations: readonly Installation[],
  ): Outcome | Promise<Outcome>
  /** Has the roots reconciled that import what is exported, well or not. */
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
