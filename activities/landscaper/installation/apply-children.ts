// Renders the Execution and sub-installations of a blueprint and writes them in one activity, so that no value of the user enters a workflow history.
// Source: spec/landscaper.md 2.3 "Init", 3.6.

import type { Execution } from '../../../workflows/landscaper/execution/kind.ts'
import {
  COPIES_CONDITION,
  EXECUTION_CONDITION,
  type Installation,
  installationKind,
} from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import { forNamespace } from '../tenant-call.ts'
import type { LandscaperDeps } from '../deps.ts'
import { reportFurtherDocuments } from '../further-documents.ts'
import { finalFailure } from '../../kube/errors.ts'
import { writeDataObjects } from '../data-objects.ts'
import { type AuthorFault, withAuthorFaults, withCondition } from './author-faults.ts'
import { applySubInstallations, type TemplateObject } from './apply-sub-installations.ts'
import { type InstallationImports, loadImports } from './imports.ts'
import { awaitContext } from './context-wait.ts'
import { importCopies, detachStaleCopies } from './import-copies.ts'
import { readInstallation, userMistake } from './read-installation.ts'
import { type Refusal, renderInstallation, type RenderedInstallation } from './render-installation.ts'
import { stateSecrets } from './states.ts'
import { readTree } from './observe.ts'
import { predecessorsOf } from './siblings.ts'
import { type ChildExecution, childExecution, type InstallationView, subInstallationView } from './views.ts'
import { hasStartedItems, writeExecution } from './child-execution.ts'
import { shortenList } from '../../../workflows/kit/index.ts'

export interface ApplyChildrenInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly generation: number
}

export type ApplyChildrenResult =
  | {
      readonly result: 'applied'
      readonly execution: ChildExecution | undefined
      /** All sub-installations, including those that are being deleted. */
      readonly subInstallations: readonly InstallationView[]
      /** The objects of the templates; absent if the children are from an earlier call of this job: the status names them. */
      readonly wantedSubs?: readonly TemplateObject[]
      /** For the status; absent when nothing is imported. */
      readonly importsHash?: string
      /** The replacements by ComponentVersionOverwrites, in words; empty without replacements, absent without component. */
      readonly replaced?: string
      /** The generation from which the items were rendered, if they are from an earlier call; absent: the generation of the input. */
      readonly generation?: number
    }
  /**
   * The job waits for siblings, for the namespace's Context, or for the end of an Execution of an earlier Installation with this name. A change of
   * these objects wakes the job.
   */
  | { readonly result: 'waiting'; readonly reason: string; readonly of?: 'siblings' | 'context' }
  /**
   * The Installation became the owner of the Execution of an earlier Installation with this name, which `kubectl delete --cascade=orphan` had left.
   */
  | { readonly result: 'adopted' }
  /** The imports do not satisfy the blueprint, or the sub-installations are invalid. */
  | ({ readonly result: 'refused'; readonly of: Refusal['of'] } & AuthorFault)

export const applyChildrenActivities = (all: LandscaperDeps) => ({
  /**
   * Renders the Installation's deploy items from its imports and writes them to its Execution. Writes a copy of each import, and the states of its
   * executions. Idempotent: writes only differences, and renders nothing once an item has started in this job.
   *
   * @throws `Changed` when the Installation's generation or an import changed since the observation; final failures for mistakes of the author.
   */
  async applyChildren(input: ApplyChildrenInput): Promise<ApplyChildrenResult> {
    const deps = forNamespace(all, input.subject.namespace, input)
    try {
      const installation = await readInstallation(deps, input)
      const { execution: existing, items, subs } = await readTree(deps, input, {})
      if (existing !== undefined && hasStartedItems(existing, items, input.jobID))
        return await existingChildren(deps, { existing, subs }, input)
      const early =
        (await awaitPredecessors(deps, input, installation)) ?? (await awaitDefaultContext(deps, input, installation))
      if (early !== undefined) return early
      const rendered = await renderInstallation(deps, input.subject, { installation, jobID: input.jobID })
      if ('fault' in rendered) return { result: 'refused', of: rendered.of, ...rendered.fault }
      const { imports, execution } = rendered
      await withCondition(COPIES_REFUSED, () => writeCopiesAndStates(deps, input, installation, rendered))
      const wanted = { ...execution, importsHash: imports.hash }
      const written = await withCondition(EXECUTION_REFUSED, () =>
        writeExecution(deps, input, { installation, existing }, wanted),
      )
      if (written.result === 'stands') return await existingChildren(deps, { existing: written.execution, subs }, input)
      if (written.result !== 'applied') return written
      const templates = rendered.subInstallations
      const applied = await withAuthorFaults(() =>
        applySubInstallations(deps, input, { parent: installation, templates, existing: subs }),
      )
      if ('fault' in applied) return { result: 'refused', of: 'subInstallations', ...applied.fault }
      await checkImports(deps, installation, imports)
      const replaced = overwritesText(rendered.replaced)
      return {
        ...written,
        ...applied,
        ...(replaced !== undefined && { replaced }),
        ...(imports.hash !== undefined && { importsHash: imports.hash }),
      }
    } catch (error) {
      throw userMistake(error)
    } finally {
      await reportFurtherDocuments(deps, { ...input, apiVersion: installationKind.apiVersion })
    }
  },
})

const COPIES_REFUSED = { type: COPIES_CONDITION, reason: 'CreateDataObjects' }
const EXECUTION_REFUSED = { type: EXECUTION_CONDITION, reason: 'CreateOrUpdateExecution' }

const MAX_SHOWN = 5

/** The message of a condition; empty without replacements. */
function overwritesText(replaced: readonly string[] | undefined): string | undefined {
  if (replaced === undefined || replaced.length === 0) return replaced && ''
  return `Pawl replaced component references: ${shortenList(replaced, MAX_SHOWN).join('; ')}`
}

/** Undefined if the job need not wait. */
async function awaitPredecessors(
  deps: LandscaperDeps,
  input: ApplyChildrenInput,
  installation: Installation,
): Promise<ApplyChildrenResult | undefined> {
  const { unfinished, failed } = await predecessorsOf(deps, input, installation)
  if (unfinished.length > 0)
    return {
      result: 'waiting',
      of: 'siblings',
      reason: `waiting for siblings whose exports it imports: ${unfinished.join(', ')}`,
    }
  if (failed.length === 0) return undefined
  throw finalFailure(
    'NotCompletedDependents',
    `siblings whose exports it imports have not succeeded: ${failed.join(', ')}; fix them, then reconcile the root`,
  )
}

/** Undefined if the Context exists or is not needed. */
async function awaitDefaultContext(
  deps: LandscaperDeps,
  input: ApplyChildrenInput,
  installation: Installation,
): Promise<ApplyChildrenResult | undefined> {
  const reason = await awaitContext(deps, input, installation)
  return reason === undefined ? undefined : { result: 'waiting', of: 'context', reason }
}

async function existingChildren(
  deps: LandscaperDeps,
  { existing, subs }: { readonly existing: Execution; readonly subs: readonly Installation[] },
  { subject }: ApplyChildrenInput,
): Promise<ApplyChildrenResult> {
  const execution = await childExecution(deps, existing, subject)
  const { generation, importsHash } = execution?.renderedFrom ?? {}
  return {
    result: 'applied',
    execution,
    subInstallations: subs.map(subInstallationView),
    ...(generation !== undefined && { generation }),
    ...(importsHash !== undefined && { importsHash }),
  }
}

/** Writes the import copies and states before other objects show the result of this rendering. */
async function writeCopiesAndStates(
  deps: LandscaperDeps,
  { by, subject, jobID }: ApplyChildrenInput,
  { spec }: Installation,
  { imports, states, subInstallations }: RenderedInstallation,
): Promise<void> {
  const writer = { ...by, step: 'applyChildren', fieldManager: 'pawl-installation' }
  const copies = importCopies(subject, jobID, imports, spec)
  await writeDataObjects(deps, writer, ...copies, stateSecrets(subject, jobID, 'deploy', states))
  // A sub-installation that imports a whole list or map imports all existing elements.
  if (subInstallations.length > 0) await detachStaleCopies(deps, writer, subject, copies)
}

// If an import changed during rendering, the items are rendered again. Source: spec/landscaper.md 2.3 "Init" 10.
async function checkImports(
  deps: LandscaperDeps,
  installation: Installation,
  { hash }: InstallationImports,
): Promise<void> {
  if (hash === undefined) return
  if ((await loadImports(deps, installation)).hash === hash) return
  throw finalFailure('Changed', 'an import changed while Pawl rendered the items')
}
