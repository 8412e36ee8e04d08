// Validates imports and exports against the schemas of a blueprint. Source: spec/landscaper.md 3.3, 3.4, 3.11.

import { BlueprintError, joinProblems, TemplateError } from '../render-errors.ts'
import type { Blueprint } from '../blueprint/blueprint.ts'
import { titleOfComponent } from '../blueprint/component-descriptor.ts'
import { resolveResource, type ComponentScope } from '../blueprint/component-scope.ts'
import { toFileContent } from '../file-content.ts'
import { referenceKey, type ResourceSchema, type SchemaReference, type SchemaSources } from './documents.ts'
import type { TemplateEngine } from '../engine/template-engine.ts'
import { writeJson } from '../../../../workflows/kit/index.ts'
import { extname } from 'node:path'
import { startProcess } from '../../bounded/bounded-process.ts'
import { ThreadEnded, type BoundedThread } from '../../bounded/bounded-thread.ts'
import { isFields } from '../field-reader.ts'
import type { SchemaMessage, SchemaReport } from './worker.ts'

export interface ValueCheck {
  /** The name of the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
  readonly isDefault?: boolean
}

type Sources = Pick<Blueprint, 'localTypes' | 'files' | 'component'>

/** Limit for the resources of components to which one schema refers. */
const MAX_RESOURCES = 100

/**
 * Returns all problems of the values, each with the name of its value.
 *
 * @throws BlueprintError for invalid references to components; `InvalidDefaultValue` for all invalid defaults together.
 */
export async function findViolations(
  engine: TemplateEngine,
  blueprint: Sources,
  checks: readonly ValueCheck[],
): Promise<readonly string[]> {
  const [problems, ofDefaults]: [string[], string[]] = [[], []]
  for (const check of checks) {
    const { what, isDefault = false } = check
    const report = await validateValue(engine, blueprint, check)
    const found = isDefault ? ofDefaults : problems
    found.push(...report.problems.map((problem) => `${what}: ${problem}`))
  }
  if (ofDefaults.length > 0) throw new BlueprintError('InvalidDefaultValue', joinProblems(ofDefaults))
  return problems
}

/** The process cannot read resources: it returns the references that it needs, and the request is sent again with their schemas. */
async function validateValue(
  engine: TemplateEngine,
  { localTypes, files, component }: Sources,
  { what, schema, value }: ValueCheck,
): Promise<SchemaReport> {
  let resources: Readonly<Record<string, ResourceSchema>> = {}
  while (Object.keys(resources).length <= MAX_RESOURCES) {
    const report = await engine.checkSchema({ what, schema, value, localTypes, files, resources })
    if (report.missing.length === 0) return report
    // A process that runs a tenant's code might request the same resources for ever.
    const missing = report.missing.filter((one) => !Object.hasOwn(resources, referenceKey(one)))
    if (missing.length === 0) break
    resources = { ...resources, ...(await readSchemas(component, missing, what)) }
  }
  const found = `the schema refers to more than ${MAX_RESOURCES} resources of components, expected fewer`
  throw new BlueprintError('SchemaValidationFailed', `${what}: ${found}`)
}

async function readSchemas(
  component: ComponentScope | undefined,
  missing: readonly SchemaReference[],
  what: string,
): Promise<Record<string, ResourceSchema>> {
  const schemas: Record<string, ResourceSchema> = {}
  for (const one of missing) schemas[referenceKey(one)] = await readSchema(component, one, what)
  return schemas
}

async function readSchema(
  scope: ComponentScope | undefined,
  { from, uri }: SchemaReference,
  what: string,
): Promise<ResourceSchema> {
  const refers = `${what}: the schema refers to ${uri}`
  if (scope === undefined)
    throw invalid(`${refers}: found no spec.componentDescriptor in the installation, expected one`)
  try {
    const found = resolveResource(scope, uri, from)
    const content = await scope.readContent(found)
    if ('folder' in content) throw invalid('found a folder, expected a file')
    return { text: toFileContent(content.bytes), component: titleOfComponent(found.component) }
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    throw new BlueprintError(error.code, `${refers}: ${error.message}`, { cause: error })
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

export type { SchemaReport } from './worker.ts'

const WORKER_FILE = new URL(`./worker${extname(import.meta.filename)}`, import.meta.url)

export interface SchemaRequest extends SchemaSources {
  /** The name of the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
}

/** The packages that the process imports. */
const PACKAGES = ['ajv', 'ajv-formats', 'yaml']

export function startSchemaProcess(): BoundedThread {
  return startProcess(WORKER_FILE, PACKAGES)
}

/**
 * Validates a value against a schema in a child process.
 *
 * @throws BlueprintError `SchemaValidationFailed` when the validation exceeds the limit for time or memory, TemplateError `TemplateCrashed`; the
 * process must not be used again.
 */
export async function validateInProcess(
  thread: BoundedThread,
  request: SchemaRequest,
  timeoutMs: number,
): Promise<SchemaReport> {
  const { what } = request
  const text = serializeMessage(request)
  try {
    return parseReport(await thread.run(text, timeoutMs))
  } catch (error) {
    if (!(error instanceof ThreadEnded)) throw error
    switch (error.reason) {
      case 'timeout':
        throw limitExceeded(`${what}: not checked within ${timeoutMs} ms, expected a simpler schema or value`)
      case 'memory':
        throw limitExceeded(
          `${what}: its check needed more memory than it may have, expected a simpler schema or value`,
        )
      case 'crash':
        throw new TemplateError('TemplateCrashed', `${what}: the schema checker died while checking it`)
    }
  }
}

function serializeMessage({ what, schema, value, localTypes, files, resources = {} }: SchemaRequest): string {
  try {
    const message: SchemaMessage = { schema, value, localTypes, files: {}, resources }
    const text = writeJson(message)
    // Files are many and rarely needed.
    return text.includes('blueprint://') ? writeJson({ ...message, files }) : text
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw limitExceeded(`${what}: schema or value is nested too deeply, expected fewer levels`)
  }
}

// The process has run code generated from a tenant's text, so its reply is validated.
function parseReport(reply: unknown): SchemaReport {
  if (!isFields(reply)) throw new ThreadEnded('crash')
  const { problems, missing } = reply
  if (!isTexts(problems) || !Array.isArray(missing) || !missing.every(isSchemaReference)) throw new ThreadEnded('crash')
  return { problems, missing }
}

function isSchemaReference(value: unknown): value is SchemaReference {
  return isFields(value) && typeof value['from'] === 'string' && typeof value['uri'] === 'string'
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function limitExceeded(message: string): BlueprintError {
  return new BlueprintError('SchemaValidationFailed', message)
}
