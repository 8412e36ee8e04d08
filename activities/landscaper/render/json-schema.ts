// Values of imports and exports held against the schemas of a blueprint. Source: spec/landscaper.md 3.3, 3.4, 3.11.

import { BlueprintError, joinProblems } from './blueprint-error.ts'
import type { Blueprint } from './blueprint.ts'
import { titleOfComponent } from './component-descriptor.ts'
import { resourceAt, type ComponentScope } from './component-scope.ts'
import { contentOf } from './file-content.ts'
import { keyOfWanted, type ResourceSchema, type WantedSchema } from './schema-documents.ts'
import type { SchemaReport } from './schema-process.ts'
import type { TemplateEngine } from './template-engine.ts'

export interface ValueCheck {
  /** Names the value in messages, e.g. `import a`. */
  readonly what: string
  readonly schema: unknown
  readonly value: unknown
  readonly isDefault?: boolean
}

type Sources = Pick<Blueprint, 'localTypes' | 'files' | 'component'>

/** Of components, that one schema leads to. */
const MOST_RESOURCES = 100

/**
 * Everything that is wrong with the values, each problem naming its value; empty when nothing is.
 *
 * @throws BlueprintError for references to components that lead nowhere; `InvalidDefaultValue` for all wrong defaults together.
 */
export async function findViolations(
  engine: TemplateEngine,
  blueprint: Sources,
  checks: readonly ValueCheck[],
): Promise<readonly string[]> {
  const [problems, ofDefaults]: [string[], string[]] = [[], []]
  for (const check of checks) {
    const { what, isDefault = false } = check
    const report = await reportOn(engine, blueprint, check)
    const found = isDefault ? ofDefaults : problems
    found.push(...report.problems.map((problem) => `${what}: ${problem}`))
  }
  if (ofDefaults.length > 0) throw new BlueprintError('InvalidDefaultValue', joinProblems(ofDefaults))
  return problems
}

/** The process that checks cannot read, so it says which resources it wants, and is asked again with these. */
async function reportOn(
  engine: TemplateEngine,
  { localTypes, files, component }: Sources,
  { what, schema, value }: ValueCheck,
): Promise<SchemaReport> {
  let resources: Readonly<Record<string, ResourceSchema>> = {}
  while (Object.keys(resources).length <= MOST_RESOURCES) {
    const report = await engine.checkSchema({ what, schema, value, localTypes, files, resources })
    if (report.wanted.length === 0) return report
    // What it was given it does not want; a process that a tenant's text has run in might say so.
    const missing = report.wanted.filter((one) => !Object.hasOwn(resources, keyOfWanted(one)))
    if (missing.length === 0) break
    resources = { ...resources, ...(await schemasOf(component, missing, what)) }
  }
  const found = `the schema refers to more than ${MOST_RESOURCES} resources of components, expected fewer`
  throw new BlueprintError('SchemaValidationFailed', `${what}: ${found}`)
}

async function schemasOf(
  component: ComponentScope | undefined,
  wanted: readonly WantedSchema[],
  what: string,
): Promise<Record<string, ResourceSchema>> {
  const schemas: Record<string, ResourceSchema> = {}
  for (const one of wanted) schemas[keyOfWanted(one)] = await schemaAt(component, one, what)
  return schemas
}

async function schemaAt(
  scope: ComponentScope | undefined,
  { from, uri }: WantedSchema,
  what: string,
): Promise<ResourceSchema> {
  const refers = `${what}: the schema refers to ${uri}`
  if (scope === undefined)
    throw invalid(`${refers}: found no spec.componentDescriptor in the installation, expected one`)
  try {
    const found = resourceAt(scope, uri, from)
    const content = await scope.contentOf(found)
    if ('folder' in content) throw invalid('found a folder, expected a file')
    return { text: contentOf(content.bytes), component: titleOfComponent(found.component) }
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    throw new BlueprintError(error.code, `${refers}: ${error.message}`, { cause: error })
  }
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
