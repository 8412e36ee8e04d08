// Validates imports and exports against the schemas of a blueprint. Source: spec/landscaper.md 3.3, 3.4, 3.11.

import { BlueprintError, joinProblems } from '../render-errors.ts'
import type { Blueprint } from '../blueprint/blueprint.ts'
import { titleOfComponent } from '../blueprint/component-descriptor.ts'
import { resolveResource, type ComponentScope } from '../blueprint/component-scope.ts'
import { toFileContent } from '../file-content.ts'
import { referenceKey, type ResourceSchema, type SchemaReference } from './documents.ts'
import type { TemplateEngine } from '../engine/template-engine.ts'
import type { SchemaReport } from './worker.ts'

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
  const found = `the schema refers to more than ${MAX_RESOURCES} resources of components; expected fewer`
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
  const refers = `${what}: the schema refers to "${uri}"`
  if (scope === undefined) throw invalid(`${refers}: the installation has no spec.componentDescriptor; add it`)
  try {
    const found = resolveResource(scope, uri, from)
    const content = await scope.readContent(found)
    if ('folder' in content) throw invalid('found a folder; expected a file')
    return { text: toFileContent(content.bytes), component: titleOfComponent(found.component) }
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    throw new BlueprintError(error.code, `${refers}: ${error.message}`, { cause: error })
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
