// Runs the executions of a blueprint: what templates see, and what becomes of what they render. Source: spec/landscaper.md 3.6.
// State of executions and the Spiff engine do not exist yet and are refused, never ignored.

import type { Blueprint, TemplateExecutor } from './blueprint.ts'
import { BlueprintError } from './blueprint-error.ts'
import { checkDeployItems, decodeDeployItems, type DeployItemTemplate, type ImportedTarget } from './deploy-items.ts'
import { mergeExports } from './exports.ts'
import { printPath, readFields, typeName, type Fields, type ReportProblem } from './field-reader.ts'
import { decodeOutput, explainFailure } from './rendered-output.ts'
import type { TemplateEngine, TemplateRequest } from './template-engine.ts'

export { checkDeployItems } from './deploy-items.ts'
export type { DeployItemTemplate, ImportedTarget, TargetReference } from './deploy-items.ts'

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
}

export interface ExportBindings extends ExecutionBindings {
  /** By item name. */
  readonly deployitems: Fields
  /** Of the Installation's own scope, by their key. */
  readonly dataobjects: Fields
  readonly targets: Fields
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
): Promise<DeployItemTemplate[]> {
  const scope = { namespace: bindings.namespace, imports: bindings.targets ?? {} }
  const problems: string[] = []
  const items: DeployItemTemplate[] = []
  for (const executor of blueprint.deployExecutions) {
    const binding = { ...commonBinding(bindings), state: {} }
    const document = await renderExecutor(engine, blueprint, executor, binding)
    items.push(...decodeDeployItems(document, scope, reportInto(problems, executor)))
  }
  // A list that was not understood would only repeat itself here.
  const found = problems.length > 0 ? problems : checkDeployItems(items)
  if (found.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', found.join('; '))
  return items
}

/**
 * Renders all export executions in order and merges what they export; of equal keys the later wins, maps are merged. What the blueprint
 * defines is checked by `checkExports`.
 *
 * @throws as renderDeployItems
 */
export async function renderExports(
  engine: TemplateEngine,
  blueprint: Blueprint,
  bindings: ExportBindings,
): Promise<Fields> {
  const { deployitems, dataobjects, targets } = bindings
  const values = { deployitems, dataobjects, targets }
  const problems: string[] = []
  let exports: Fields = {}
  for (const executor of blueprint.exportExecutions) {
    const binding = { ...commonBinding(bindings), state: {}, ...values, values }
    const document = await renderExecutor(engine, blueprint, executor, binding)
    const fields = readFields(document, [], reportInto(problems, executor), 'fold')
    exports = mergeExports(exports, fields.fields('exports') ?? {})
  }
  if (problems.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', problems.join('; '))
  return exports
}

function commonBinding({ blueprint, imports }: ExecutionBindings): Fields {
  return { imports, blueprint, blueprintDef: blueprint }
}

function reportInto(problems: string[], { name }: TemplateExecutor): ReportProblem {
  return (path, problem) => problems.push(`template "${name}": ${printPath(path)}: ${problem}`)
}

async function renderExecutor(
  engine: TemplateEngine,
  blueprint: Blueprint,
  executor: TemplateExecutor,
  binding: Fields,
): Promise<Fields> {
  const template = templateOf(blueprint, executor)
  const request: TemplateRequest = { name: executor.name, template, binding, files: blueprint.files }
  const document = decodeOutput(request, await renderOrExplain(engine, request))
  // Passwords that a template generates and keeps in its state would change with every job.
  if (readFields(document, [], () => undefined, 'fold').raw('state') !== undefined) {
    throw unsupported(executor, 'rendered a state, but states of executions are not supported yet')
  }
  return document
}

async function renderOrExplain(engine: TemplateEngine, request: TemplateRequest): Promise<string> {
  try {
    return await engine.render(request)
  } catch (error) {
    throw explainFailure(error, request)
  }
}

function templateOf(blueprint: Blueprint, executor: TemplateExecutor): string {
  const { name, type, file, template } = executor
  if (type === 'Spiff') throw unsupported(executor, 'type Spiff is not supported yet, expected GoTemplate')
  if (type !== 'GoTemplate') throw invalid(`template "${name}": found type ${type}, expected GoTemplate`)
  if (file === undefined) {
    if (typeof template === 'string') return template
    throw invalid(`template "${name}": found ${typeName(template)}, expected text for a GoTemplate`)
  }
  const path = file.split('/').filter((segment) => segment !== '' && segment !== '.')
  const content = blueprint.files[path.join('/')]
  if (content === undefined) throw invalid(`template "${name}": found no file ${file} in the blueprint`)
  return content
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

function unsupported({ name }: TemplateExecutor, message: string): BlueprintError {
  return new BlueprintError('NotSupported', `template "${name}": ${message}`)
}
