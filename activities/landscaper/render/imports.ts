// The imports of an Installation: from what it gives to what its blueprint declares. Values come from the caller; nothing is read here.
// Source: spec/landscaper.md 3.3 and 3.9.
//
//   I1. Of data, a mapping goes before an import of the same name, and that before the default.
//   I2. What has no value is absent, not null.
//   I3. No message holds a value.

import type { Target } from '../../../workflows/landscaper/target/kind.ts'
import { BlueprintError, joinProblems } from './blueprint-error.ts'
import type { ImportDefinition } from './blueprint-imports.ts'
import type { Blueprint } from './blueprint.ts'
import type { ImportedTarget, TargetReference } from './deploy-items.ts'
import { runImportExecutions } from './executions.ts'
import type { Fields } from './field-reader.ts'
import { findViolations, type ValueCheck } from './json-schema.ts'
import { renderMappings } from './mappings.ts'
import { contentOf, mapTargets, type TargetShape } from './target-shape.ts'
import type { TemplateEngine } from './template-engine.ts'

/** A Target as it is in the cluster: templates see metadata and spec. */
export interface TargetObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly spec: Target['spec']
  readonly [field: string]: unknown
}

export type TargetImport = TargetShape<TargetObject>

/** By the Installation's import names. */
export interface LoadedImports {
  readonly data: Fields
  readonly targets: Readonly<Record<string, TargetImport>>
}

export interface ConstructedImports {
  /** What templates see as `imports`: data values, Target objects, lists, maps; with the bindings of import executions. */
  readonly bindings: Fields
  /** For `target.import` of deploy items. */
  readonly targets: Readonly<Record<string, ImportedTarget>>
  /** By blueprint import name: what is copied into the installation's own scope. Without bindings of executions. */
  readonly data: Fields
  readonly targetObjects: Readonly<Record<string, TargetImport>>
}

export interface ImportInput {
  /** The Installation's `spec.blueprint`; templates see it. */
  readonly blueprintSpec: unknown
  readonly loaded: LoadedImports
  /** The Installation's `importDataMappings`. */
  readonly mappings: Fields
}

/**
 * Maps, completes and checks what the Installation imports, then runs the blueprint's import executions.
 *
 * @throws BlueprintError `ImportNotSatisfied`, `SchemaValidationFailed`, `InvalidDefaultValue`, `ImportExecutionFailed`, or what a template fails with.
 */
export async function constructImports(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { blueprintSpec, loaded, mappings }: ImportInput,
): Promise<ConstructedImports> {
  const { data: given, targets: givenTargets } = loaded
  const variables = joined(given, mapValues(givenTargets, contentOf))
  const mapped = await renderMappings(engine, 'importDataMappings', mappings, variables)
  const found = resolve(blueprint.imports, { given: joined(given, mapped), givenTargets })
  if (found.problems.length > 0) throw new BlueprintError('ImportNotSatisfied', joinProblems(found.problems))
  const violations = [...found.mismatches, ...(await findViolations(engine, blueprint, found.checks))]
  if (violations.length > 0) throw new BlueprintError('SchemaValidationFailed', joinProblems(violations))
  const data = Object.fromEntries(found.data)
  const targetObjects = Object.fromEntries(found.targets)
  const imports = joined(data, mapValues(targetObjects, contentOf))
  return {
    bindings: await runImportExecutions(engine, blueprint, { blueprint: blueprintSpec, imports }),
    targets: mapValues(targetObjects, referencesOf),
    data,
    targetObjects,
  }
}

interface Given {
  readonly given: Fields
  readonly givenTargets: Readonly<Record<string, TargetImport>>
}

interface Resolved {
  readonly data: [string, unknown][]
  readonly targets: [string, TargetImport][]
  readonly checks: ValueCheck[]
  /** Imports without a value, or with one of another kind. */
  readonly problems: string[]
  /** Targets of another type. */
  readonly mismatches: string[]
}

function resolve(definitions: readonly ImportDefinition[], given: Given): Resolved {
  const resolved: Resolved = { data: [], targets: [], checks: [], problems: [], mismatches: [] }
  const pending = [...definitions]
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const hasValue = next.type === 'data' ? resolveData(next, given, resolved) : resolveTarget(next, given, resolved)
    if (hasValue && next.type === 'data') pending.push(...next.imports)
  }
  return resolved
}

function resolveData(definition: ImportDefinition, { given, givenTargets }: Given, resolved: Resolved): boolean {
  const { name, schema, required } = definition
  const what = `import ${name}`
  const isGiven = Object.hasOwn(given, name)
  const fallback = isGiven ? undefined : definition.default
  if (!isGiven && fallback === undefined) {
    const other = Object.hasOwn(givenTargets, name) ? 'found a target' : 'found no value'
    if (required) resolved.problems.push(`${what}: ${other}, expected data from imports.data or importDataMappings`)
    return false
  }
  const value = isGiven ? given[name] : fallback?.value
  resolved.data.push([name, value])
  if (schema === undefined) resolved.mismatches.push(`${what}: found no schema in the blueprint, expected one`)
  else resolved.checks.push({ what, schema, value, isDefault: !isGiven })
  return true
}

const FORMS = {
  target: { key: 'target', words: 'a target' },
  targetList: { key: 'list', words: 'a list of targets' },
  targetMap: { key: 'map', words: 'a map of targets' },
} as const

function resolveTarget(definition: ImportDefinition, { given, givenTargets }: Given, resolved: Resolved): boolean {
  const { name, type, required, targetType = '' } = definition
  if (type === 'data') return false
  const form = FORMS[type]
  const value = Object.hasOwn(givenTargets, name) ? givenTargets[name] : undefined
  if (value === undefined) {
    const other = Object.hasOwn(given, name) ? 'found data' : 'found no value'
    if (required) resolved.problems.push(`import ${name}: ${other}, expected ${form.words} from imports.targets`)
    return false
  }
  if (!(form.key in value)) {
    const found = Object.values(FORMS).find(({ key }) => key in value)?.words ?? 'nothing'
    resolved.problems.push(`import ${name}: found ${found}, expected ${form.words}`)
    return false
  }
  resolved.targets.push([name, value])
  const others = placesOf(value).filter(([, target]) => target.spec.type !== targetType)
  resolved.mismatches.push(
    ...others.map(([place]) => `import ${name}${place}: found a target of another type, expected type ${targetType}`),
  )
  return true
}

/** Each Target with its place in the import. */
function placesOf(value: TargetImport): [string, TargetObject][] {
  if ('target' in value) return [['', value.target]]
  if ('list' in value) return value.list.map((target, index) => [`[${index}]`, target])
  return Object.entries(value.map).map(([key, target]) => [`[${key}]`, target])
}

function referencesOf(value: TargetImport): ImportedTarget {
  return mapTargets(value, referenceOf)
}

function referenceOf({ metadata: { name, namespace = '' } }: TargetObject): TargetReference {
  return { name, namespace }
}

// fromEntries defines own properties, also for a key such as __proto__.
function mapValues<From, To>(record: Readonly<Record<string, From>>, convert: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, convert(value)]))
}

/** Of equal keys the later wins. */
function joined(earlier: Fields, later: Fields): Fields {
  return Object.fromEntries([...Object.entries(earlier), ...Object.entries(later)])
}
