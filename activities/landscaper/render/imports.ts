// Builds the imports of an Installation from its values and its blueprint's definitions. It reads nothing from the cluster. Source:
// spec/landscaper.md 3.3 and 3.9.
//
//   I1. For data, a mapping overrides an import of the same name, and an import overrides the default.
//   I2. An import without a value is absent, not null.
//   I3. No message contains a value.

import type { Target } from '../../../workflows/landscaper/target/kind.ts'
import { BlueprintError, joinProblems } from './render-errors.ts'
import type { ImportDefinition } from './blueprint/blueprint-definition.ts'
import type { Blueprint } from './blueprint/blueprint.ts'
import {
  type ImportedTarget,
  type TargetReference,
  unwrapTargets,
  mapTargets,
  type TargetShape,
} from './deploy-items.ts'
import { runImportExecutions } from './executions.ts'
import type { Fields } from './field-reader.ts'
import { findViolations, type ValueCheck } from './schema/validation.ts'
import { renderMappings } from './executor.ts'
import type { TemplateEngine } from './engine/template-engine.ts'
import { nearMisses } from '../../../workflows/kit/index.ts'

/** A Target as in the cluster: templates see metadata and spec. */
export interface TargetObject {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown }
  readonly spec: Target['spec']
  readonly [field: string]: unknown
}

export type TargetImport = TargetShape<TargetObject>

/** By the import names of the Installation. */
export interface LoadedImports {
  readonly data: Fields
  readonly targets: Readonly<Record<string, TargetImport>>
}

export interface ConstructedImports {
  /** The value of `imports` in templates: data, Target objects, lists and maps, with the bindings of import executions. */
  readonly bindings: Fields
  /** For `target.import` of deploy items. */
  readonly targets: Readonly<Record<string, ImportedTarget>>
  /** By the blueprint's import names: the data that is copied into the installation's own scope, without bindings of executions. */
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
 * Maps, completes and validates the imports of an Installation, then runs the blueprint's import executions.
 *
 * @throws BlueprintError `ImportNotSatisfied`, `SchemaValidationFailed`, `InvalidDefaultValue`, `ImportExecutionFailed`, or the error of a template.
 */
export async function constructImports(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { blueprintSpec, loaded, mappings }: ImportInput,
): Promise<ConstructedImports> {
  const { data: given, targets: givenTargets } = loaded
  const variables = merge(given, mapValues(givenTargets, unwrapTargets))
  const mapped = await renderMappings(engine, 'importDataMappings', mappings, variables)
  const found = resolve(blueprint.imports, { given: merge(given, mapped), givenTargets })
  if (found.problems.length > 0) throw new BlueprintError('ImportNotSatisfied', joinProblems(found.problems))
  const violations = [...found.mismatches, ...(await findViolations(engine, blueprint, found.checks))]
  if (violations.length > 0) throw new BlueprintError('SchemaValidationFailed', joinProblems(violations))
  const data = Object.fromEntries(found.data)
  const targetObjects = Object.fromEntries(found.targets)
  const imports = merge(data, mapValues(targetObjects, unwrapTargets))
  return {
    bindings: await runImportExecutions(engine, blueprint, { blueprint: blueprintSpec, imports }),
    targets: mapValues(targetObjects, referencesOf),
    data,
    targetObjects,
  }
}

interface InputValues {
  readonly given: Fields
  readonly givenTargets: Readonly<Record<string, TargetImport>>
}

interface Resolved {
  readonly data: [string, unknown][]
  readonly targets: [string, TargetImport][]
  readonly checks: ValueCheck[]
  /** Imports without a value, or with a value of another kind. */
  readonly problems: string[]
  /** Targets of another type. */
  readonly mismatches: string[]
}

function resolve(definitions: readonly ImportDefinition[], given: InputValues): Resolved {
  const resolved: Resolved = { data: [], targets: [], checks: [], problems: [], mismatches: [] }
  const pending = [...definitions]
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const hasValue = next.type === 'data' ? resolveData(next, given, resolved) : resolveTarget(next, given, resolved)
    if (hasValue && next.type === 'data') pending.push(...next.imports)
  }
  return resolved
}

function resolveData(definition: ImportDefinition, { given, givenTargets }: InputValues, resolved: Resolved): boolean {
  const { name, schema, required } = definition
  const what = `import "${name}"`
  const isGiven = Object.hasOwn(given, name)
  const fallback = isGiven ? undefined : definition.default
  if (!isGiven && fallback === undefined) {
    const isTarget = Object.hasOwn(givenTargets, name)
    if (required) resolved.problems.push(`${what}: ${missingValue('data', { isOther: isTarget, name, given })}`)
    return false
  }
  const value = isGiven ? given[name] : fallback?.value
  resolved.data.push([name, value])
  if (schema === undefined) resolved.mismatches.push(`${what}: schema is missing in blueprint.yaml; add it`)
  else resolved.checks.push({ what, schema, value, isDefault: !isGiven })
  return true
}

const FORMS = {
  target: { key: 'target', words: 'a target' },
  targetList: { key: 'list', words: 'a list of targets' },
  targetMap: { key: 'map', words: 'a map of targets' },
} as const

function resolveTarget(
  definition: ImportDefinition,
  { given, givenTargets }: InputValues,
  resolved: Resolved,
): boolean {
  const { name, type, required, targetType = '' } = definition
  if (type === 'data') return false
  const form = FORMS[type]
  const value = Object.hasOwn(givenTargets, name) ? givenTargets[name] : undefined
  if (value === undefined) {
    const missing = { isOther: Object.hasOwn(given, name), name, given: givenTargets }
    if (required) resolved.problems.push(`import "${name}": ${missingValue(form.words, missing)}`)
    return false
  }
  if (!(form.key in value)) {
    const found = Object.values(FORMS).find(({ key }) => key in value)?.words ?? 'nothing'
    resolved.problems.push(`import "${name}": found ${found}; expected ${form.words}`)
    return false
  }
  resolved.targets.push([name, value])
  const others = withPlaces(value).filter(([, target]) => target.spec.type !== targetType)
  resolved.mismatches.push(
    ...others.map(
      ([place]) => `import "${name}"${place}: found a target of another type; expected type "${targetType}"`,
    ),
  )
  return true
}

interface MissingValue {
  /** Whether the import has data instead of a target, or a target instead of data. */
  readonly isOther: boolean
  readonly name: string
  /** The given values of the right kind, for an author who has mistyped the name. */
  readonly given: Fields
}

/** @param kind the expected kind of value. */
function missingValue(kind: string, { isOther, name, given }: MissingValue): string {
  const fields = kind === 'data' ? 'spec.imports.data or spec.importDataMappings' : 'spec.imports.targets'
  if (isOther) return `found ${kind === 'data' ? 'a target' : 'data'}; expected ${kind} from ${fields}`
  const [typo] = nearMisses(given, [name])
  return `no value; ${typo === undefined ? `add ${kind} to ${fields}` : `rename the import "${typo.found}" in ${fields}`}`
}

/** Each Target with its place in the import. */
function withPlaces(value: TargetImport): [string, TargetObject][] {
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

/** Of equal keys the later one wins. */
function merge(earlier: Fields, later: Fields): Fields {
  return Object.fromEntries([...Object.entries(earlier), ...Object.entries(later)])
}
