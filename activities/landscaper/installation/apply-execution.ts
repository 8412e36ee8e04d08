// From blueprint to Execution: renders (render-installation.ts) and writes the result, all inside one activity, so that no value of the user
// passes through a workflow. Source: spec/landscaper.md 2.3 "Init", 3.6.

import type { Execution } from '../../../workflows/landscaper/execution/kind.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { forNamespace } from '../customer.ts'
import type { LandscaperDeps } from '../deps.ts'
import { finalFailure } from '../../kube/errors.ts'
import { writeDataObjects } from '../data-objects.ts'
import type { ImportFault, InstallationImports } from './construct-imports.ts'
import { importCopies } from './import-copies.ts'
import { loadImports } from './imports.ts'
import { readInstallation, userMistake } from './read-installation.ts'
import { renderInstallation, type RenderedInstallation } from './render-installation.ts'
import { stateSecrets } from './states.ts'
import { readTree } from './observe.ts'
import { type ChildExecution, childExecution } from './views.ts'
import { stands, writeExecution } from './write-execution.ts'

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
      /** That the items are of, where they stood already; absent: the one that was asked for. */
      readonly generation?: number
    }
  /** An Execution of an earlier Installation of this name is still being deleted; its end will wake this job. */
  | { readonly result: 'waiting'; readonly reason: string }
  /** The imports are not what the blueprint wants, or are not there. */
  | ({ readonly result: 'refused' } & ImportFault)

export const applyExecutionActivities = (all: LandscaperDeps) => ({
  /**
   * Renders the Installation's deploy items from its imports and makes its Execution hold them; keeps a copy of each import, and the states
   * of its executions. Idempotent; writes nothing that is so already, and renders nothing once an item has begun in this job.
   *
   * @throws `Changed` when the Installation has another generation than the pass observed, or an import changed meanwhile; final faults for
   * what its author can mend.
   */
  async applyExecution(input: ApplyExecutionInput): Promise<ApplyExecutionResult> {
    const deps = forNamespace(all, input.subject.namespace)
    try {
      const installation = await readInstallation(deps, input)
      const { execution: existing, items } = await readTree(deps, input, {})
      if (existing !== undefined && stands(existing, items, input.jobID)) return await standing(deps, existing, input)
      const rendered = await renderInstallation(deps, input.subject, installation)
      if ('fault' in rendered) return { result: 'refused', ...rendered.fault }
      const { imports, execution } = rendered
      await keep(deps, input, rendered)
      const written = await writeExecution(
        deps,
        input,
        { installation, existing },
        { ...execution, importsHash: imports.hash },
      )
      if (written.result === 'stands') return await standing(deps, written.execution, input)
      await checkImports(deps, installation, imports)
      if (written.result === 'waiting' || imports.hash === undefined) return written
      return { ...written, importsHash: imports.hash }
    } catch (error) {
      throw userMistake(error)
    }
  },
})

async function standing(
  deps: LandscaperDeps,
  existing: Execution,
  { subject }: ApplyExecutionInput,
): Promise<ApplyExecutionResult> {
  const execution = await childExecution(deps, existing, subject)
  const { generation, importsHash } = execution?.renderedFrom ?? {}
  return {
    ...{ result: 'applied', execution },
    ...(generation !== undefined && { generation }),
    ...(importsHash !== undefined && { importsHash }),
  }
}

/** Keeps what the next rendering needs before anybody sees this one's result. */
async function keep(
  deps: LandscaperDeps,
  { by, subject, jobID }: ApplyExecutionInput,
  { imports, states }: RenderedInstallation,
): Promise<void> {
  await writeDataObjects(
    deps,
    { ...by, step: 'applyExecution', fieldManager: 'pawl-installation' },
    ...importCopies(subject, jobID, imports),
    stateSecrets(subject, jobID, 'deploy', states),
  )
}

// What was rendered from values that changed meanwhile is rendered again. Source: spec/landscaper.md 2.3 "Init" 10.
async function checkImports(
  deps: LandscaperDeps,
  installation: Installation,
  { hash }: InstallationImports,
): Promise<void> {
  if (hash === undefined) return
  if ((await loadImports(deps, installation)).hash === hash) return
  const { namespace, name } = installation.metadata
  throw finalFailure('Changed', `an import of installation ${namespace}/${name} changed while its items were rendered`)
}
