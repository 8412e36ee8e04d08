// What an Installation's blueprint makes of its imports: reads both and renders. Nothing is written here; what has to be is in the result.
// Source: spec/landscaper.md 2.3 "Init", 3.6.

import type { Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { finalFailure } from '../../kube/errors.ts'
import { ownerNameProblem } from '../item-rules.ts'
import { type RenderedExecution, renderExecution } from '../render/execution-spec.ts'
import type { ExecutionStates } from '../render/executor.ts'
import type { SubinstallationTemplate } from '../render/subinstallation-template.ts'
import { renderSubinstallations } from '../render/subinstallations.ts'
import { type ImportFault, type InstallationImports, prepareImports, withImportFaults } from './construct-imports.ts'
import { blueprintOf, checkContext } from './installation-blueprint.ts'
import { loadStates } from './states.ts'

export interface RenderedInstallation {
  readonly imports: InstallationImports
  readonly execution: Pick<RenderedExecution, 'spec' | 'hasItems'>
  readonly subInstallations: readonly SubinstallationTemplate[]
  /** The states of its executions as they were kept last, and as the next rendering needs them. */
  readonly states: { readonly loaded: ExecutionStates; readonly rendered: ExecutionStates }
}

/**
 * Renders an Installation that was read. The same again as long as installation, imports and states are the same, unless its templates are random.
 *
 * @returns the fault when the imports are not what the blueprint wants, or are not there.
 * @throws final faults for what its author can mend, BlueprintError among them; retryable failures of the API server.
 */
export async function renderInstallation(
  deps: LandscaperDeps,
  subject: Subject,
  { installation, jobID }: { readonly installation: Installation; readonly jobID: string },
): Promise<RenderedInstallation | { readonly fault: ImportFault }> {
  const nameProblem = ownerNameProblem('installation', installation.metadata.name)
  if (nameProblem !== undefined) throw finalFailure('ERR_CONFIGURATION_PROBLEM', nameProblem)
  const { context: named, blueprint: source } = installation.spec
  const context = named ?? 'default'
  await checkContext(deps, installation)
  const blueprint = await blueprintOf(deps, installation, jobID)
  const imports = await withImportFaults(() => prepareImports(deps, installation, blueprint))
  if ('fault' in imports) return imports
  const { templates } = deps.landscaper
  const executors = [...blueprint.deployExecutions, ...blueprint.subinstallationExecutions]
  const loaded = await loadStates(deps, subject, 'deploy', executors)
  const bindings = { blueprint: source, imports: imports.bindings, states: loaded }
  const subs = await renderSubinstallations(templates, blueprint, bindings, imports)
  const { states: ofItems, ...execution } = await renderExecution(templates, blueprint, {
    ...{ ...bindings, context, namespace: subject.namespace, targets: imports.targets },
  })
  // Executions of both kinds that have one name share their state, as in the original (spec appendix B 18).
  const rendered = { ...ofItems, ...subs.states }
  return { imports, execution, subInstallations: subs.templates, states: { loaded, rendered } }
}
