// From blueprint to Execution: reads the Installation and its imports, renders its deploy executions and writes the result, all inside one
// activity, so that no value of the user passes through a workflow. Source: spec/landscaper.md 2.3 "Init", 3.6.

import { contextKind } from '../../../workflows/landscaper/context/kind.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { writeDataObjects } from '../data-objects.ts'
import { finalFailure, toApplicationFailure } from '../../kube/errors.ts'
import { ownerNameProblem } from '../item-rules.ts'
import { readObject, readSubject } from '../../kube/read-family.ts'
import { type Blueprint, readBlueprint } from '../render/blueprint.ts'
import { BlueprintError } from '../render/blueprint-error.ts'
import { type DeployItemTemplate, renderDeployItems } from '../render/executions.ts'
import { type ImportFault, type InstallationImports, prepareImports, withImportFaults } from './construct-imports.ts'
import { importCopies } from './import-copies.ts'
import { loadImports } from './imports.ts'
import { specOf } from './spec.ts'
import { loadStates, stateSecrets } from './states.ts'
import type { ChildExecution } from './views.ts'
import { writeExecution } from './write-execution.ts'

export interface ApplyExecutionInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
}

export type ApplyExecutionResult =
  | {
      readonly result: 'applied'
      readonly execution: ChildExecution | undefined
      /** For the status; absent when nothing is imported. */
      readonly importsHash?: string
    }
  /** An Execution of an earlier Installation of this name is still being deleted; its end will wake this job. */
  | { readonly result: 'waiting'; readonly reason: string }
  /** The imports are not what the blueprint wants, or are not there. */
  | ({ readonly result: 'refused' } & ImportFault)

export const applyExecutionActivities = (deps: Deps) => ({
  /**
   * Renders the Installation's deploy items from its imports and makes its Execution hold them; keeps a copy of each import, and the states
   * of its executions. Idempotent; writes nothing that is so already.
   *
   * @throws `Changed` when the Installation has another generation than the pass observed, or an import changed meanwhile; final faults for
   * what its author can mend.
   */
  async applyExecution(input: ApplyExecutionInput): Promise<ApplyExecutionResult> {
    try {
      const installation = await readInstallation(deps, input)
      const nameProblem = ownerNameProblem('installation', installation.metadata.name)
      if (nameProblem !== undefined) throw finalFailure('ERR_CONFIGURATION_PROBLEM', nameProblem)
      const { context, blueprint: source } = specOf(installation)
      await checkContext(deps, input.subject.namespace, context ?? 'default')
      const blueprint = readBlueprint(source)
      const imports = await withImportFaults(() => prepareImports(deps, installation, blueprint))
      if ('fault' in imports) return { result: 'refused', ...imports.fault }
      const items = await render(deps, input, installation, { blueprint, imports })
      const written = await writeExecution(deps, input, installation, items)
      await checkImports(deps, installation, imports)
      if (written.result === 'waiting' || imports.hash === undefined) return written
      return { ...written, importsHash: imports.hash }
    } catch (error) {
      throw toApplicationFailure(userMistake(error))
    }
  },
})

/** What the author of a blueprint can mend, as a final failure; anything else as it is. */
export function userMistake(error: unknown): unknown {
  return error instanceof BlueprintError ? finalFailure(error.code, error.message) : error
}

/** The Installation as the pass observed it. @throws `Changed`, `NotFound`. */
export async function readInstallation(
  deps: Deps,
  { subject, generation }: Pick<ApplyExecutionInput, 'subject' | 'generation'>,
): Promise<KubeObject> {
  const installation = await readSubject(deps, installationKind, subject)
  const name = `installation ${subject.namespace}/${subject.name}`
  if (installation === undefined) throw finalFailure('NotFound', `${name} is gone`)
  if (installation.metadata.generation !== generation) {
    throw finalFailure(
      'Changed',
      `${name} has generation ${installation.metadata.generation ?? 0}; the pass observed ${generation}`,
    )
  }
  return installation
}

// An absent Context named default counts as empty; any other must be there. Source: issue text and spec/landscaper.md 1.7.
async function checkContext(deps: Deps, namespace: string, name: string): Promise<void> {
  if (name === 'default') return
  const context = await readObject(deps, { ...contextKind, projection: [], hashed: [] }, namespace, name)
  if (context === undefined)
    throw finalFailure('ContextNotFound', `spec.context names context ${namespace}/${name}; there is none`)
}

/** Renders the items, and keeps what the next rendering needs before anybody sees this one's result. */
async function render(
  deps: Deps,
  { by, subject, jobID }: ApplyExecutionInput,
  installation: KubeObject,
  { blueprint, imports }: { readonly blueprint: Blueprint; readonly imports: InstallationImports },
): Promise<readonly DeployItemTemplate[]> {
  const loaded = await loadStates(deps, subject, 'deploy', blueprint.deployExecutions)
  const { items, states: rendered } = await renderDeployItems(deps.templates, blueprint, {
    blueprint: specOf(installation).blueprint,
    imports: imports.bindings,
    namespace: subject.namespace,
    targets: imports.targets,
    states: loaded,
  })
  await writeDataObjects(
    deps,
    { ...by, step: 'applyExecution', fieldManager: 'pawl-installation' },
    ...importCopies(subject, jobID, imports),
    stateSecrets(subject, jobID, 'deploy', { loaded, rendered }),
  )
  return items
}

// What was rendered from values that changed meanwhile is rendered again. Source: spec/landscaper.md 2.3 "Init" 10.
async function checkImports(deps: Deps, installation: KubeObject, { hash }: InstallationImports): Promise<void> {
  if (hash === undefined) return
  if ((await loadImports(deps, installation)).hash === hash) return
  const { namespace = '', name } = installation.metadata
  throw finalFailure('Changed', `an import of installation ${namespace}/${name} changed while its items were rendered`)
}
