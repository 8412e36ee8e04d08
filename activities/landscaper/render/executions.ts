// Runs the executions of a blueprint: what templates see, and what becomes of what they render. Source: spec/landscaper.md 3.6.

import type { Blueprint } from './blueprint.ts'
import { titleOf } from './blueprint-definition.ts'
import { BlueprintError, joinProblems } from './blueprint-error.ts'
import { componentBinding } from './component-scope.ts'
import { checkDeployItems, decodeDeployItems, type DeployItemTemplate, type ImportedTarget } from './deploy-items.ts'
import { renderExecutor, renderInTurn, reportInto, type ExecutionStates } from './executor.ts'
import { countProblem } from '../item-rules.ts'
import { mergeExports } from './exports.ts'
import { readFields, typeName, type Fields } from './field-reader.ts'
import type { TemplateEngine } from './template-engine.ts'

export { checkDeployItems } from './deploy-items.ts'
export type { DeployItemTemplate, ImportedTarget, TargetReference } from './deploy-items.ts'

const MAX_ERRORS = 10
const MAX_ERROR_LENGTH = 500

export interface ExecutionBindings {
  /** The Installation's `spec.blueprint`; templates see it as `blueprint` and `blueprintDef`. */
  readonly blueprint: unknown
  /** By import name: a value, a Target, a list or a map of Targets. */
  readonly imports: Fields
}

export interface DeployBindings extends ExecutionBindings {
  /** The Installation's; targets of items must lie in it. */
  readonly namespace: string
  /** Which Target objects were imported, for `target.import` of items. */
  readonly targets?: Readonly<Record<string, ImportedTarget>>
  /** As they were kept last. */
  readonly states?: ExecutionStates
}

export interface ExportBindings extends ExecutionBindings {
  /** By item name. */
  readonly deployitems: unknown
  /** Of the Installation's own scope, by their key. */
  readonly dataobjects: Fields
  readonly targets: Fields
  /** As they were kept last. */
  readonly states?: ExecutionStates
}

export interface RenderedItems {
  readonly items: readonly DeployItemTemplate[]
  /** New states, of the executors that have one. */
  readonly states: ExecutionStates
}

export interface RenderedExports {
  readonly exports: Fields
  /** New states, of the executors that have one. */
  readonly states: ExecutionStates
}

/**
 * Renders all deploy executions in order and joins their items. Cycles are let through: the Execution runs what can run and then fails.
 *
 * @throws BlueprintError for whatever the author can mend; TemplateError `TemplateCrashed`, which a retry may not meet again.
 */
export async function renderDeployItems(
  engine: TemplateEngine,
  blueprint: Blueprint,
  bindings: DeployBindings,
): Promise<RenderedItems> {
  const scope = { namespace: bindings.namespace, imports: bindings.targets ?? {} }
  const problems: string[] = []
  const items: DeployItemTemplate[] = []
  const turn = {
    executors: blueprint.deployExecutions,
    binding: commonBinding(blueprint, bindings),
    states: bindings.states,
  }
  const states = await renderInTurn(engine, blueprint, turn, (document, executor) => {
    for (const item of decodeDeployItems(document, scope, reportInto(problems, executor))) items.push(item)
    const excess = countProblem(items.length)
    if (excess !== undefined) problems.push(`template "${titleOf(executor)}": ${excess}`)
    return excess === undefined
  })
  // A list that was not understood would only repeat itself here.
  const found = problems.length > 0 ? problems : checkDeployItems(items)
  if (found.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(found))
  return { items, states }
}

/**
 * Renders all export executions in order and merges what they export; of equal keys the later wins, maps are merged. What the blueprint
 * defines is checked by `finishExports`.
 *
 * @throws as renderDeployItems
 */
export async function renderExports(
  engine: TemplateEngine,
  blueprint: Blueprint,
  bindings: ExportBindings,
): Promise<RenderedExports> {
  const { deployitems, dataobjects, targets } = bindings
  const values = { deployitems, dataobjects, targets }
  const problems: string[] = []
  let exports: Fields = {}
  const binding = { ...commonBinding(blueprint, bindings), ...values, values }
  const turn = { executors: blueprint.exportExecutions, binding, states: bindings.states }
  const states = await renderInTurn(engine, blueprint, turn, (document, executor) => {
    const fields = readFields(document, [], reportInto(problems, executor), 'fold')
    exports = mergeExports(exports, fields.fields('exports') ?? {})
    return true
  })
  if (problems.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(problems))
  return { exports, states }
}

/**
 * Runs all import executions in order. Each sees what the ones before it bound.
 *
 * @returns the imports with the bindings of all.
 * @throws BlueprintError `ImportExecutionFailed` with the errors that an execution reports; else as renderDeployItems.
 */
export async function runImportExecutions(
  engine: TemplateEngine,
  blueprint: Blueprint,
  bindings: ExecutionBindings,
): Promise<Fields> {
  let { imports } = bindings
  for (const executor of blueprint.importExecutions) {
    const problems: string[] = []
    const input = { binding: commonBinding(blueprint, { ...bindings, imports }), mayMissValues: true }
    const { document } = await renderExecutor(engine, blueprint, executor, input)
    const fields = readFields(document, [], reportInto(problems, executor), 'fold')
    const errors = fields.list('errors') ?? []
    const bound = fields.fields('bindings') ?? {}
    if (problems.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(problems))
    if (errors.length > 0) throw reported(titleOf(executor), errors)
    imports = Object.fromEntries([...Object.entries(imports), ...Object.entries(bound)])
  }
  return imports
}

/** The words of the blueprint's author for the Installation's. */
function reported(name: string, errors: readonly unknown[]): BlueprintError {
  const texts = errors.slice(0, MAX_ERRORS).map((error) => {
    if (typeof error !== 'string') return `found ${typeName(error)}, expected a text`
    return error.length > MAX_ERROR_LENGTH ? `${error.slice(0, MAX_ERROR_LENGTH)}...` : error
  })
  const more = errors.length > MAX_ERRORS ? [`and ${errors.length - MAX_ERRORS} more`] : []
  return new BlueprintError('ImportExecutionFailed', `import execution ${name}: ${[...texts, ...more].join('; ')}`)
}

/** What every execution's template sees. @throws BlueprintError when the blueprint wants a schema of components that there is not. */
export function commonBinding(
  { component, annotations }: Blueprint,
  { blueprint, imports }: ExecutionBindings,
): Fields {
  return { imports, blueprint, blueprintDef: blueprint, ...componentBinding(component, annotations ?? {}) }
}
