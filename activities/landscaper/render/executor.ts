// Runs one execution of a blueprint: which template, in which language, with which state. Source: spec/landscaper.md 3.2, 3.6-3.8.

import { writeJson } from '../../../workflows/kit/index.ts'
import { titleOf } from './blueprint-definition.ts'
import { BlueprintError } from './blueprint-error.ts'
import type { Blueprint, TemplateExecutor } from './blueprint.ts'
import { printPath, readFields, typeName, type Fields, type ReportProblem } from './field-reader.ts'
import { renderAsking } from './render-asking.ts'
import { decodeDocument, explainFailure, refuseMissingValues } from './rendered-output.ts'
import type { TemplateEngine, TemplateLanguage, TemplateRequest } from './template-engine.ts'

/** By executor name: what its template keeps from job to job. */
export type ExecutionStates = Readonly<Record<string, unknown>>

export interface ExecutorInput {
  /** What the template sees, its state not included. */
  readonly binding: Fields
  /** Absent: the execution has none. */
  readonly states?: ExecutionStates
  /** Whether the text `<no value>` may stand in the output. */
  readonly mayMissValues: boolean
}

export interface ExecutorOutput {
  readonly document: Fields
  /** To be kept for the next job; absent when the template has none, and then an earlier one stays as it is. */
  readonly state?: unknown
}

/**
 * Renders one executor's template and decodes its output.
 *
 * @throws BlueprintError for whatever the author can mend; TemplateError `TemplateCrashed`, which a retry may not meet again.
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
  // A Spiff template has its state in nodes of its own, which a variable would hide.
  const isGo = language === 'GoTemplate'
  const request: TemplateRequest =
    isGo && states !== undefined
      ? { ...source, binding: { ...binding, state: state ?? {} } }
      : { ...source, binding, state }
  const rendered = await renderOrExplain(engine, request, blueprint.component)
  if (isGo && !mayMissValues) refuseMissingValues(request, rendered.output)
  const document = await decodeDocument(engine, request, rendered.output)
  const kept = isGo ? readFields(document, [], () => undefined, 'fold').raw('state') : rendered.state
  return states === undefined || kept === undefined ? { document } : { document, state: kept }
}

/**
 * Renders executors one after the other, each with the states that those before it have left.
 *
 * @param take what becomes of each document; false: no more.
 * @returns the new states, of the executors that have one.
 * @throws as `renderExecutor`.
 */
export async function renderInTurn(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { executors, binding, states: loaded = {} }: InTurn,
  take: (document: Fields, executor: TemplateExecutor) => boolean,
): Promise<ExecutionStates> {
  const kept = new Map<string, unknown>()
  for (const executor of executors) {
    const states = { ...loaded, ...Object.fromEntries(kept) }
    const { document, ...rendered } = await renderExecutor(engine, blueprint, executor, {
      binding,
      states,
      mayMissValues: false,
    })
    if ('state' in rendered) kept.set(executor.name, rendered.state)
    if (!take(document, executor)) break
  }
  return Object.fromEntries(kept)
}

export interface InTurn {
  readonly executors: readonly TemplateExecutor[]
  /** What the templates see, their states not included. */
  readonly binding: Fields
  /** As they were kept last; absent: none. */
  readonly states?: ExecutionStates | undefined
}

/** Problems in what an executor rendered, named by the executor and the place. */
export function reportInto(problems: string[], executor: TemplateExecutor): ReportProblem {
  return (path, problem) => problems.push(`template "${titleOf(executor)}": ${printPath(path)}: ${problem}`)
}

async function renderOrExplain(engine: TemplateEngine, request: TemplateRequest, scope: Blueprint['component']) {
  try {
    return await renderAsking(engine, request, scope)
  } catch (error) {
    throw explainFailure(error, request)
  }
}

function languageOf(executor: TemplateExecutor): TemplateLanguage {
  const { type } = executor
  if (type === 'GoTemplate' || type === 'Spiff') return type
  throw invalid(`template "${titleOf(executor)}": found type ${type}, expected GoTemplate or Spiff`)
}

function templateOf(blueprint: Blueprint, executor: TemplateExecutor): Pick<TemplateRequest, 'template' | 'form'> {
  const { type, file, template } = executor
  const title = titleOf(executor)
  if (file === undefined) {
    if (typeof template === 'string') return { template }
    if (type === 'Spiff') return { template: jsonOf(title, template), form: 'json' }
    throw invalid(`template "${title}": found ${typeName(template)}, expected text for a GoTemplate`)
  }
  const path = file
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
  const content = Object.hasOwn(blueprint.files, path) ? blueprint.files[path] : undefined
  if (content === undefined) throw invalid(`template "${title}": found no file ${file} in the blueprint`)
  return { template: content }
}

function jsonOf(title: string, template: unknown): string {
  try {
    return writeJson(template)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid(`template "${title}": nested too deeply, expected fewer levels`)
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
