// Reads the blueprint and imports of an Installation and renders them. It writes nothing; the caller writes the result. Source: spec/landscaper.md
// 2.3 "Init", 3.6.

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
  /** The states of the executions before and after this rendering. */
  readonly states: { readonly loaded: ExecutionStates; readonly rendered: ExecutionStates }
  /** The replacements by ComponentVersionOverwrites, in words; undefined without component. */
  readonly replaced: readonly string[] | undefined
}

/** A mistake of the author, and the part with the mistake. */
export interface Refusal {
  readonly fault: AuthorFault
  readonly of: 'imports' | 'subInstallations'
}

/**
 * Renders an Installation. The result depends only on Installation, imports and states, unless templates are random.
 *
 * @returns the fault when the imports do not satisfy the blueprint, or the sub-installations are invalid.
 * @throws final failures for other mistakes of the author, including BlueprintError; retryable failures of the API server.
 */
export async function renderInstallation(
  deps: LandscaperDeps,
  subject: Subject,
  { installation, jobID }: { readonly installation: Installation; readonly jobID: string },
): Promise<RenderedInstallation | Refusal> {
  const nameProblem = ownerNameProblem('installation', installation.metadata.name)
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
  const rendered = { ...ofItems, ...subs.states }
  const { overwrites: replaced } = blueprint.component ?? {}
  return { imports, execution, subInstallations: subs.templates, states: { loaded, rendered }, replaced }
}
