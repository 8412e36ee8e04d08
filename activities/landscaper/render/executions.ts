// Runs the executions of a blueprint: builds the bindings of their templates and decodes the results. Source: spec/landscaper.md 3.6.

import type { Blueprint } from './blueprint/blueprint.ts'
import { titleOf } from './blueprint/blueprint-definition.ts'
import { BlueprintError, joinProblems } from './render-errors.ts'
import { componentBinding } from './blueprint/component-scope.ts'
import { checkDeployItems, decodeDeployItems, type DeployItemTemplate, type ImportedTarget } from './deploy-items.ts'
import { renderExecutor, renderAll, reportInto, type ExecutionStates } from './executor.ts'
import { countProblem } from '../item-rules.ts'
import { mergeExports } from './exports.ts'
import { readFields, typeName, type Fields } from './field-reader.ts'
import type { TemplateEngine } from './engine/template-engine.ts'
import { gzipSync } from 'node:zlib'
import { canonicalJson, shortenList } from '../../../workflows/kit/index.ts'

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
  /** The Installation's namespace; targets of items must be in it. */
  readonly namespace: string
  /** The imported Target objects, for `target.import` of items. */
  readonly targets?: Readonly<Record<string, ImportedTarget>>
  /** The states of the previous job. */
  readonly states?: ExecutionStates
}

export interface ExportBindings extends ExecutionBindings {
  /** Exports by item name. */
  readonly deployitems: unknown
  /** The DataObjects and Targets of the Installation's own scope, by their key. */
  readonly dataobjects: Fields
  readonly targets: Fields
  /** The states of the previous job. */
  readonly states?: ExecutionStates
}

export interface RenderedItems {
  readonly items: readonly DeployItemTemplate[]
  /** The new states of executors that have one. */
  readonly states: ExecutionStates
}

export interface RenderedExports {
  readonly exports: Fields
  /** The new states of executors that have one. */
  readonly states: ExecutionStates
}

/**
 * Renders all deploy executions in order and joins their items. Cycles are accepted: the Execution runs all items outside of cycles and then fails.
 *
 * @throws BlueprintError for mistakes of the author; TemplateError `TemplateCrashed`, which may be retried.
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
  const states = await renderAll(engine, blueprint, turn, (document, executor) => {
    for (const item of decodeDeployItems(document, scope, reportInto(problems, executor))) items.push(item)
    const excess = countProblem(items.length)
    if (excess !== undefined) problems.push(`template "${titleOf(executor)}": ${excess}`)
    return excess === undefined
  })
  // A list that could not be decoded would only cause the same problems again.
  const found = problems.length > 0 ? problems : checkDeployItems(items)
  if (found.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(found))
  return { items, states }
}

/**
 * Renders all export executions in order and merges their exports: maps are merged, of other values the later one wins. `finishExports` validates the
 * result.
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
  const states = await renderAll(engine, blueprint, turn, (document, executor) => {
    const fields = readFields(document, [], reportInto(problems, executor), 'fold')
    exports = mergeExports(exports, fields.fields('exports') ?? {})
    return true
  })
  if (problems.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(problems))
  return { exports, states }
}

/**
 * Runs all import executions in order. Each sees the bindings of the previous ones.
 *
 * @returns the imports with all bindings.
 * @throws BlueprintError `ImportExecutionFailed` with the errors that an execution reports; otherwise as renderDeployItems.
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
    if (errors.length > 0) throw reportedErrors(titleOf(executor), errors)
    imports = Object.fromEntries([...Object.entries(imports), ...Object.entries(bound)])
  }
  return imports
}

/** The errors that the blueprint's author reports to the Installation's author. */
function reportedErrors(name: string, errors: readonly unknown[]): BlueprintError {
  const texts = errors.map((error) => {
    if (typeof error !== 'string') return `found ${typeName(error)}; expected text`
    return error.length > MAX_ERROR_LENGTH ? `${error.slice(0, MAX_ERROR_LENGTH)}...` : error
  })
  return new BlueprintError(
    'ImportExecutionFailed',
    `import execution "${name}": ${shortenList(texts, MAX_ERRORS).join('; ')}`,
  )
}

/** The binding that all executions share. @throws BlueprintError for an unknown schema version of components. */
export function commonBinding(
  { component, annotations }: Blueprint,
  { blueprint, imports }: ExecutionBindings,
): Fields {
  return { imports, blueprint, blueprintDef: blueprint, ...componentBinding(component, annotations ?? {}) }
}

export interface ExecutionSpec {
  /** The items as compressed JSON; equal items have equal texts. */
  readonly context: string
  /** The items as compressed JSON; equal items are equal texts. */
  readonly deployItemsCompressed: string
}

export interface RenderedExecution {
  /** Set for a blueprint without items, too: it empties an existing Execution. */
  readonly spec: ExecutionSpec
  readonly hasItems: boolean
  /** The new states of executors that have one. */
  readonly states: ExecutionStates
}

/**
 * Renders the spec of the Execution from a blueprint and its imports. Source: spec/landscaper.md 1.3, 2.3 "Init" 9, 3.6. @throws as renderDeployItems
 */
export async function renderExecution(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { context, ...bindings }: DeployBindings & Pick<ExecutionSpec, 'context'>,
): Promise<RenderedExecution> {
  const { items, states } = await renderDeployItems(engine, blueprint, bindings)
  return { spec: executionSpec(context, items), hasItems: items.length > 0, states }
}

// Always compressed, because of the size limit of objects. Source: spec/landscaper.md 1.3. Canonical JSON, so equal items have equal bytes.
function executionSpec(context: string, items: readonly DeployItemTemplate[]): ExecutionSpec {
  return { context, deployItemsCompressed: gzipSync(canonicalJson(items)).toString('base64') }
}
