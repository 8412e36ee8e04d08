// Reads the blueprint and imports of an Installation and renders the spec of its Execution, its sub-installations, and
// the states of the templates. Writes nothing; the caller writes the result. Source: spec/landscaper.md 2.3 "Init" and
// 3.6.

import type { Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { EXECUTION_CONDITION, type Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { finalFailure } from '../../kube/errors.ts'
import { ownerNameProblem } from '../item-rules.ts'
import { type RenderedExecution, renderExecution } from '../render/executions.ts'
import type { ExecutionStates } from '../render/executor.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-templates.ts'
import { renderSubinstallations } from '../render/subinstallations.ts'
import { type AuthorFault, withAuthorFaults, withCondition } from './author-faults.ts'
import { type InstallationImports, loadAndBuildImports } from './imports.ts'
import { blueprintOf, checkContext } from './installation-blueprint.ts'
import { checkNesting } from './parent.ts'
import { checkSpec } from './spec.ts'
import { loadStates } from './states.ts'

export interface RenderedInstallation {
  readonly imports: InstallationImports
  readonly execution: Pick<RenderedExecution, 'spec' | 'hasItems'>
  readonly subInstallations: readonly SubinstallationTemplate[]
  /**
   * The states that the blueprint's template executions keep between jobs: of the previous job (`loaded`), and after
   * this rendering (`rendered`).
   */
  readonly states: { readonly loaded: ExecutionStates; readonly rendered: ExecutionStates }
  /**
   * Messages about component references that ComponentVersionOverwrites replaced; undefined if the Installation has no
   * component.
   */
  readonly replaced: readonly string[] | undefined
}

/** A mistake of the author of the Installation or blueprint, and the part of the rendering with the mistake. */
export interface Refusal {
  readonly fault: AuthorFault
  readonly of: 'imports' | 'subInstallations'
}

/**
 * Renders an Installation. The result depends only on the Installation, its imports, the states, its blueprint and its
 * component version with the Context and its ComponentVersionOverwrites, unless templates use random values or the
 * clock.
 *
 * @returns a `Refusal` when imports are missing or do not satisfy the blueprint, or when the sub-installations are
 * invalid: the workflow reports each of these in its own condition.
 * @throws final failures, and BlueprintError, for other mistakes of the author; retryable failures of the API server.
 */
export async function renderInstallation(
  deps: LandscaperDeps,
  subject: Subject,
  { installation, jobID }: { readonly installation: Installation; readonly jobID: string },
): Promise<RenderedInstallation | Refusal> {
  const nameProblem = ownerNameProblem('Installation', installation.metadata.name)
  if (nameProblem !== undefined) throw finalFailure('ERR_CONFIGURATION_PROBLEM', nameProblem)
  checkSpec(installation)
  const { context: named, blueprint: source } = installation.spec
  const context = named ?? 'default'
  await checkContext(deps, installation)
  const blueprint = await blueprintOf(deps, installation, jobID)
  const imports = await withAuthorFaults(() => loadAndBuildImports(deps, installation, blueprint))
  if ('fault' in imports) return { ...imports, of: 'imports' }
  const { templates } = deps.landscaper
  const executors = [...blueprint.deployExecutions, ...blueprint.subinstallationExecutions]
  // The states of 'deploy' belong to deploy and sub-installation executions: those with the same name share one.
  const loaded = await loadStates(deps, subject, 'deploy', executors)
  const bindings = { blueprint: source, imports: imports.bindings, states: loaded }
  const subs = await withAuthorFaults(async () => {
    const rendered = await renderSubinstallations(templates, blueprint, bindings, imports)
    checkNesting(installation, rendered.templates)
    return rendered
  })
  if ('fault' in subs) return { ...subs, of: 'subInstallations' }
  const given = { ...bindings, context, namespace: subject.namespace, targets: imports.targets }
  const { states: ofItems, ...execution } = await withCondition(
    { type: EXECUTION_CONDITION, reason: 'TemplatingFailed' },
    () => renderExecution(templates, blueprint, given),
  )
  // Deploy and sub-installation executions with the same name share their state, as in Landscaper (spec appendix B 18).
  // The state of the sub-installation execution wins.
  const rendered = { ...ofItems, ...subs.states }
  const { overwrites: replaced } = blueprint.component ?? {}
  return { imports, execution, subInstallations: subs.templates, states: { loaded, rendered }, replaced }
}
