// From blueprint to Execution and sub-installations: renders (render-installation.ts) and writes the result, all inside one activity, so that no value of the user
// passes through a workflow. Source: spec/landscaper.md 2.3 "Init", 3.6.

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
import { applySubInstallations, type WantedSub } from './apply-sub-installations.ts'
import type { InstallationImports } from './construct-imports.ts'
import { awaitContext } from './context-wait.ts'
import { importCopies, setStaleCopiesAside } from './import-copies.ts'
import { loadImports } from './imports.ts'
import { readInstallation, userMistake } from './read-installation.ts'
import { type Refusal, renderInstallation, type RenderedInstallation } from './render-installation.ts'
import { stateSecrets } from './states.ts'
import { readTree } from './observe.ts'
import { predecessorsOf } from './siblings.ts'
import { type ChildExecution, childExecution, type InstallationView, subInstallationView } from './views.ts'
import { stands, writeExecution } from './write-execution.ts'

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
      /** All, those under deletion too. */
      readonly subInstallations: readonly InstallationView[]
      /** Those of the templates; absent where they stood already: the status names them. */
      readonly wantedSubs?: readonly WantedSub[]
      /** For the status; absent when nothing is imported. */
      readonly importsHash?: string
      /** What ComponentVersionOverwrites have replaced, in words; empty where nothing is, absent without component. */
      readonly replaced?: string
      /** That the items are of, where they stood already; absent: the one that was asked for. */
      readonly generation?: number
    }
  /** For siblings, for the namespace's Context, or for an Execution of an earlier Installation of this name that is still being deleted; what becomes of them will wake this job. */
  | { readonly result: 'waiting'; readonly reason: string; readonly of?: 'siblings' | 'context' }
  /** The Execution of an earlier Installation of this name, which `kubectl delete --cascade=orphan` has kept, belongs to this one now. */
  | { readonly result: 'adopted' }
  /** The imports are not what the blueprint wants, or are not there; or its sub-installations cannot be. */
  | ({ readonly result: 'refused'; readonly of: Refusal['of'] } & AuthorFault)

export const applyChildrenActivities = (all: LandscaperDeps) => ({
  /**
   * Renders the Installation's deploy items from its imports and makes its Execution hold them; keeps a copy of each import, and the states
   * of its executions. Idempotent; writes nothing that is so already, and renders nothing once an item has begun in this job.
   *
   * @throws `Changed` when the Installation has another generation than the pass observed, or an import changed meanwhile; final faults for
   * what its author can mend.
   */
  async applyChildren(input: ApplyChildrenInput): Promise<ApplyChildrenResult> {
    const deps = forNamespace(all, input.subject.namespace, input)
    try {
      const installation = await readInstallation(deps, input)
      const { execution: existing, items, subs } = await readTree(deps, input, {})
      if (existing !== undefined && stands(existing, items, input.jobID))
        return await standing(deps, { existing, subs }, input)
      const early =
        (await awaitPredecessors(deps, input, installation)) ?? (await awaitDefault(deps, input, installation))
      if (early !== undefined) return early
      const rendered = await renderInstallation(deps, input.subject, { installation, jobID: input.jobID })
      if ('fault' in rendered) return { result: 'refused', of: rendered.of, ...rendered.fault }
      const { imports, execution } = rendered
      await withCondition(COPIES_REFUSED, () => keep(deps, input, rendered))
      const wanted = { ...execution, importsHash: imports.hash }
      const written = await withCondition(EXECUTION_REFUSED, () =>
        writeExecution(deps, input, { installation, existing }, wanted),
      )
      if (written.result === 'stands') return await standing(deps, { existing: written.execution, subs }, input)
      if (written.result !== 'applied') return written
      const templates = rendered.subInstallations
      const applied = await withAuthorFaults(() =>
        applySubInstallations(deps, input, { parent: installation, templates, existing: subs }),
      )
      if ('fault' in applied) return { result: 'refused', of: 'subInstallations', ...applied.fault }
      await checkImports(deps, installation, imports)
      const replaced = replacedText(rendered.replaced)
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

const MOST_SHOWN = 5

/** For a condition; empty: nothing was replaced. */
function replacedText(replaced: readonly string[] | undefined): string | undefined {
  if (replaced === undefined || replaced.length === 0) return replaced && ''
  const more = replaced.length > MOST_SHOWN ? ` and ${replaced.length - MOST_SHOWN} more` : ''
  return `references to components are replaced: ${replaced.slice(0, MOST_SHOWN).join('; ')}${more}`
}

/** Undefined: none is in the way. */
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
      reason: `waiting for siblings whose exports are imported: ${unfinished.join(', ')}`,
    }
  if (failed.length === 0) return undefined
  throw finalFailure(
    'NotCompletedDependents',
    `siblings whose exports are imported have not succeeded: ${failed.join(', ')}; expected Succeeded`,
  )
}

/** Undefined: it is there, or nobody has to wait for it. */
async function awaitDefault(
  deps: LandscaperDeps,
  input: ApplyChildrenInput,
  installation: Installation,
): Promise<ApplyChildrenResult | undefined> {
  const reason = await awaitContext(deps, input, installation)
  return reason === undefined ? undefined : { result: 'waiting', of: 'context', reason }
}

async function standing(
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

/** Keeps what the next rendering needs before anybody sees this one's result. */
async function keep(
  deps: LandscaperDeps,
  { by, subject, jobID }: ApplyChildrenInput,
  { imports, states, subInstallations }: RenderedInstallation,
): Promise<void> {
  const writer = { ...by, step: 'applyChildren', fieldManager: 'pawl-installation' }
  const copies = importCopies(subject, jobID, imports)
  await writeDataObjects(deps, writer, ...copies, stateSecrets(subject, jobID, 'deploy', states))
  // Whoever imports a whole list or map takes what is there for its elements.
  if (subInstallations.length > 0) await setStaleCopiesAside(deps, writer, subject, copies)
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
