// Runs one execution of a blueprint: selects template, language and state, and renders. Source: spec/landscaper.md 3.2, 3.6-3.8.

import { writeJson } from '../../../workflows/kit/index.ts'
import { titleOf } from './blueprint/blueprint-definition.ts'
import { BlueprintError } from './render-errors.ts'
import type { Blueprint, TemplateExecutor } from './blueprint/blueprint.ts'
import { printPath, readFields, typeName, type Fields, type ReportProblem } from './field-reader.ts'
import { renderWithRequests } from './render-with-requests.ts'
import { decodeDocument, explainFailure, refuseMissingValues, decodeValue } from './rendered-output.ts'
import type { TemplateEngine, TemplateLanguage, TemplateRequest } from './engine/template-engine.ts'

/** The states that templates keep between jobs, by executor name. */
export type ExecutionStates = Readonly<Record<string, unknown>>

export interface ExecutorInput {
  /** The template's binding without its state. */
  readonly binding: Fields
  /** Absent if the execution has no states. */
  readonly states?: ExecutionStates
  /** Whether the output may contain `<no value>`. */
  readonly mayMissValues: boolean
}

export interface ExecutorOutput {
  readonly document: Fields
  /** The state for the next job. Absent if the template sets none; an earlier state then stays unchanged. */
  readonly state?: unknown
}

/**
 * Renders one executor's template and decodes its output.
 *
 * @throws BlueprintError for mistakes of the author; TemplateError `TemplateCrashed`, which may be retried.
 */
export async function renderExecutor(
  engine: TemplateEngine,
  blueprint: Blueprint,
  executor: TemplateExecutor,
  { binding, states, mayMissValues }: ExecutorInput,
): Promise<ExecutorOutput> {
  const { name } = executor
  const state = states !== undefined && Object.hasOwn(states, name) ? states[name] : undefined
  const language = languageOf(executor)
  const source = {
    engine: language,
    name: titleOf(executor),
    ...templateOf(blueprint, executor),
    files: blueprint.files,
  }
  // A Spiff template has its state in nodes, which a variable would hide.
  const isGo = language === 'GoTemplate'
  const request: TemplateRequest =
    isGo && states !== undefined
      ? { ...source, binding: { ...binding, state: state ?? {} } }
      : { ...source, binding, state }
  const rendered = await renderOrExplain(engine, request, blueprint.component)
  if (isGo && !mayMissValues) refuseMissingValues(request, rendered.output)
  const document = await decodeDocument(engine, request, rendered.output)
  const newState = isGo ? readFields(document, [], () => undefined, 'fold').raw('state') : rendered.state
  return states === undefined || newState === undefined ? { document } : { document, state: newState }
}

/**
 * Renders executors in order; each sees the states of the previous ones.
 *
 * @param take receives each document; returns false to stop.
 * @returns the new states of executors that have one.
 * @throws as `renderExecutor`.
 */
export async function renderAll(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { executors, binding, states: loaded = {} }: ExecutorSequence,
  take: (document: Fields, executor: TemplateExecutor) => boolean,
): Promise<ExecutionStates> {
  const statesByName = new Map<string, unknown>()
  for (const executor of executors) {
    const states = { ...loaded, ...Object.fromEntries(statesByName) }
    const { document, ...rendered } = await renderExecutor(engine, blueprint, executor, {
      binding,
      states,
      mayMissValues: false,
    })
    if ('state' in rendered) statesByName.set(executor.name, rendered.state)
    if (!take(document, executor)) break
  }
  return Object.fromEntries(statesByName)
}

export interface ExecutorSequence {
  readonly executors: readonly TemplateExecutor[]
  /** The binding of the templates without their states. */
  readonly binding: Fields
  /** The states of the previous job; absent if there are none. */
  readonly states?: ExecutionStates | undefined
}

/** Collects problems in an executor's output, with executor and path. */
export function reportInto(problems: string[], executor: TemplateExecutor): ReportProblem {
  return (path, problem) => problems.push(`template "${titleOf(executor)}": ${printPath(path)}: ${problem}`)
}

async function renderOrExplain(engine: TemplateEngine, request: TemplateRequest, scope: Blueprint['component']) {
  try {
    return await renderWithRequests(engine, request, scope)
  } catch (error) {
    throw explainFailure(error, request)
  }
}

function languageOf(executor: TemplateExecutor): TemplateLanguage {
  const { type } = executor
  if (type === 'GoTemplate' || type === 'Spiff') return type
  throw invalid(`template "${titleOf(executor)}": type: found "${type}"; expected "GoTemplate" or "Spiff"`)
}

function templateOf(blueprint: Blueprint, executor: TemplateExecutor): Pick<TemplateRequest, 'template' | 'form'> {
  const { type, file, template } = executor
  const title = titleOf(executor)
  if (file === undefined) {
    if (typeof template === 'string') return { template }
    if (type === 'Spiff') return { template: serializeTemplate(title, template), form: 'json' }
    throw invalid(
      `template "${title}": template: found ${typeName(template)}; expected text, because the type is GoTemplate`,
    )
  }
  const path = file
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
  const content = Object.hasOwn(blueprint.files, path) ? blueprint.files[path] : undefined
  if (content === undefined)
    throw invalid(`template "${title}": file: no file "${file}" in the blueprint; add it or correct the path`)
  return { template: content }
}

function serializeTemplate(title: string, template: unknown): string {
  try {
    return writeJson(template)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid(`template "${title}": nested too deeply; expected fewer levels`)
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

/** Limits the total time: each mapping may take as long as one template. */
export const MAX_MAPPINGS = 1000

/**
 * Renders importDataMappings or exportDataMappings: each mapping is a separate Spiff document that does not see the results of others. Mappings have
 * only Spiff's functions, and no files. Source: spec/landscaper.md 3.9.
 *
 * @param field for messages, e.g. `importDataMappings`.
 * @param variables for the expressions, by name.
 * @throws BlueprintError `TemplatingFailed`, and `ERR_CONFIGURATION_PROBLEM` for too many mappings.
 */
export async function renderMappings(
  engine: TemplateEngine,
  field: string,
  mappings: Fields,
  variables: Fields,
): Promise<Fields> {
  const count = Object.keys(mappings).length
  if (count > MAX_MAPPINGS) {
    const problem = `spec.${field}: found ${count} entries; expected at most ${MAX_MAPPINGS}`
    throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', problem)
  }
  const results: [string, unknown][] = []
  for (const [name, mapping] of Object.entries(mappings)) {
    const source = { engine: 'Spiff', form: 'json', name: `${field}.${name}`, files: {} } as const
    const request: TemplateRequest = { ...source, template: writeJson(mapping), binding: variables }
    results.push([name, await renderValue(engine, request)])
  }
  return Object.fromEntries(results)
}

async function renderValue(engine: TemplateEngine, request: TemplateRequest): Promise<unknown> {
  try {
    return decodeValue(request, (await engine.render(request)).output)
  } catch (error) {
    throw explainFailure(error, request)
  }
}
