// Reads blueprint.yaml. Lenient, as Landscaper is: unknown keys are ignored, except misspelled known ones. Source: spec/landscaper.md 3.1-3.6.

import { nearMisses, isFields } from '../../../../workflows/kit/index.ts'
import { BlueprintError, joinProblems } from '../render-errors.ts'
import { printPath, readFields, type FieldReader, type Fields, type ReportProblem } from '../field-reader.ts'
import { parseReadByGo, parseYaml, YamlError, type ParsedYaml, type YamlPath } from '../../../yaml/read-yaml.ts'

export const DEFINITION_FILE = 'blueprint.yaml'
// Source: spec/landscaper.md 3.2; many authors write `jsonSchema` for jsonSchemaVersion, without effect.
const KEYS = [
  ...['apiVersion', 'kind', 'annotations', 'jsonSchema', 'jsonSchemaVersion', 'localTypes', 'imports', 'exports'],
  ...['importExecutions', 'deployExecutions', 'exportExecutions', 'subinstallations', 'subinstallationExecutions'],
]
/** Limits the total time: each execution may take as long as one template. */
export const MAX_EXECUTIONS = 1000
/** Each sub-installation is an object with a run. */
export const MAX_SUBINSTALLATIONS = 1000
/** A label only: the version does not change validation. Source: spec/landscaper.md 3.2 and 3.11. */
const DEFAULT_SCHEMA_VERSION = 'https://json-schema.org/draft/2019-09/schema'

export interface TemplateExecutor {
  /** The key of the executor's state; empty if the blueprint gives no name. */
  readonly name: string
  /** The path of an executor without a name, e.g. `deployExecutions[0]`. */
  readonly place?: string
  readonly type: string
  /** The path of the template in the blueprint; otherwise `template` is set. */
  readonly file?: string
  readonly template?: unknown
}

export interface ExportDefinition {
  readonly name: string
  readonly type: 'data' | 'target'
  readonly schema?: unknown
  /** Short names are qualified with the default domain. */
  readonly targetType?: string
}

/** The content of blueprint.yaml. */
export interface BlueprintDefinition {
  readonly annotations?: Fields
  /** JSON schemas by name, for `local://NAME`. */
  readonly localTypes: Fields
  readonly jsonSchemaVersion: string
  readonly imports: readonly ImportDefinition[]
  readonly importExecutions: readonly TemplateExecutor[]
  readonly deployExecutions: readonly TemplateExecutor[]
  readonly exportExecutions: readonly TemplateExecutor[]
  /** Templates of sub-installations, or `{file}` with the path of one, as written. */
  readonly subinstallations: readonly unknown[]
  readonly subinstallationExecutions: readonly TemplateExecutor[]
  readonly exports: readonly ExportDefinition[]
}

/**
 * @param json the JSON that Go's parser makes of the text; absent: the npm parser parses it.
 * @throws BlueprintError with all problems and their lines; its cause is a YamlError if the text is not YAML.
 */
export function readDefinition(text: string, json?: string): BlueprintDefinition {
  const yaml = parseDefinition(text, json)
  const problems: string[] = []
  const report: ReportProblem = (path, problem) => {
    const place = [DEFINITION_FILE, `line ${yaml.lineOf(path)}`, ...(path.length === 0 ? [] : [printPath(path)])]
    problems.push(`${place.join(', ')}: ${problem}`)
  }
  const fields = readFields(yaml.value ?? undefined, [], report, 'exact')
  for (const { found, meant } of nearMisses(isFields(yaml.value) ? yaml.value : {}, KEYS))
    report([found], `unknown field; did you mean "${meant}"?`)
  const kind = fields.text('kind') ?? 'Blueprint'
  if (kind !== 'Blueprint') report(['kind'], `found "${kind}"; expected "Blueprint"`)
  const annotations = fields.fields('annotations')
  const definition = {
    ...(annotations !== undefined && { annotations }),
    localTypes: fields.fields('localTypes') ?? {},
    jsonSchemaVersion: fields.text('jsonSchemaVersion') ?? DEFAULT_SCHEMA_VERSION,
    imports: readImports(fields, report),
    importExecutions: readExecutors(fields, 'importExecutions', report),
    deployExecutions: readExecutors(fields, 'deployExecutions', report),
    exportExecutions: readExecutors(fields, 'exportExecutions', report),
    subinstallations: listOf(fields, 'subinstallations', MAX_SUBINSTALLATIONS, report),
    subinstallationExecutions: readExecutors(fields, 'subinstallationExecutions', report),
    exports: readExports(fields, report),
  }
  if (problems.length > 0) throw invalid(joinProblems(problems))
  return definition
}

function parseDefinition(text: string, json: string | undefined): ParsedYaml {
  try {
    return json === undefined ? parseYaml(text) : parseReadByGo(text, json)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const found = `line ${error.line}, column ${error.column}: not valid YAML: ${error.message}`
    throw invalid(`${DEFINITION_FILE}, ${found}`, error)
  }
}

/** The name of an execution in messages. */
export function titleOf({ name, place = '' }: Pick<TemplateExecutor, 'name' | 'place'>): string {
  return name === '' ? place : name
}

/** Executors run in this order. Their names are optional and only used in messages and as keys of states. */
function readExecutors(blueprint: FieldReader, key: string, report: ReportProblem): readonly TemplateExecutor[] {
  return listOf(blueprint, key, MAX_EXECUTIONS, report).map((value, index) => {
    const path = [key, index]
    const fields = readFields(value, path, report, 'exact')
    const name = fields.text('name') ?? ''
    const type = required(fields, 'type', path, report)
    const file = fields.text('file')
    const template = fields.raw('template')
    if ((file === undefined) === (template === undefined)) {
      report(
        path,
        file === undefined
          ? 'file and template are missing; set one of them'
          : 'found both file and template; remove one of them',
      )
    }
    return {
      name,
      type,
      ...(name === '' && { place: printPath(path) }),
      ...(file !== undefined && { file }),
      ...(template !== undefined && { template }),
    }
  })
}

function readExports(blueprint: FieldReader, report: ReportProblem): readonly ExportDefinition[] {
  const definitions = listOf(blueprint, 'exports', MAX_DEFINITIONS, report).map((value, index) => {
    const path = ['exports', index]
    const fields = readFields(value, path, report, 'exact')
    const name = required(fields, 'name', path, report)
    const schema = fields.raw('schema')
    const targetType = fields.text('targetType')
    const type = fields.text('type') ?? (targetType === undefined ? 'data' : 'target')
    if (type !== 'data' && type !== 'target') report([...path, 'type'], `found "${type}"; expected "data" or "target"`)
    if (type === 'data' && schema === undefined) report(path, 'schema is missing; add it for an export of type "data"')
    if (type === 'target' && targetType === undefined)
      report(path, 'targetType is missing; add it for an export of type "target"')
    return {
      name,
      type: type === 'target' ? ('target' as const) : ('data' as const),
      ...(schema === undefined ? {} : { schema }),
      ...(targetType === undefined ? {} : { targetType: qualifiedTargetType(targetType) }),
    }
  })
  const seen = new Set<string>()
  for (const [index, { name }] of definitions.entries()) {
    if (seen.has(name)) report(['exports', index, 'name'], `found "${name}" twice; expected unique names`)
    seen.add(name)
  }
  return definitions
}

/** A list that is longer than `most` is refused as a whole. */
function listOf(blueprint: FieldReader, key: string, most: number, report: ReportProblem): readonly unknown[] {
  const list = blueprint.list(key) ?? []
  if (list.length <= most) return list
  report([key], `found ${list.length} entries; expected at most ${most}`)
  return []
}

function required(fields: FieldReader, key: string, path: YamlPath, report: ReportProblem): string {
  const text = fields.text(key)
  if (text === '' || (text === undefined && fields.raw(key) === undefined)) report(path, `${key} is missing; add it`)
  return text ?? ''
}

function invalid(message: string, cause?: unknown): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message, { cause })
}

// Reads the import definitions of a blueprint. Source: spec/landscaper.md 3.3; quirk 19 (types of target maps are taken as written).

const IMPORT_TYPES = ['data', 'target', 'targetList', 'targetMap'] as const
const MAX_DEPTH = 32

export type ImportType = (typeof IMPORT_TYPES)[number]

export interface ImportDefinition {
  readonly name: string
  readonly type: ImportType
  readonly required: boolean
  /** Only for data; without a schema no value is accepted. */
  readonly schema?: unknown
  /** Only for targets. Short names are qualified with the default domain, except in a target map. */
  readonly targetType?: string
  /** Only for optional data: the value if none is given. */
  readonly default?: { readonly value: unknown }
  /** Conditional imports: they apply only if this import is data and has a value. */
  readonly imports: readonly ImportDefinition[]
}

/** Reads the `imports` of a blueprint with conditional ones; names are unique among all of them. */
export function readImports(blueprint: FieldReader, report: ReportProblem): readonly ImportDefinition[] {
  const places = new Map<string, YamlPath>()
  return readList(blueprint, ['imports'], report, places)
}

/** Limit for imports, conditional ones included, and for exports: each is validated against a schema. */
export const MAX_DEFINITIONS = 2000

function readList(
  owner: FieldReader,
  path: YamlPath,
  report: ReportProblem,
  places: Map<string, YamlPath>,
): readonly ImportDefinition[] {
  const list = owner.list('imports') ?? []
  const found = places.size + list.length
  if (found > MAX_DEFINITIONS) {
    report(path, `found ${found} imports; expected at most ${MAX_DEFINITIONS}, including conditional imports`)
    return []
  }
  return list.map((value, index) => readImport(value, [...path, index], report, places))
}

function readImport(
  value: unknown,
  path: YamlPath,
  report: ReportProblem,
  places: Map<string, YamlPath>,
): ImportDefinition {
  const fields = readFields(value, path, report, 'exact')
  const name = fields.text('name') ?? ''
  checkName(name, path, report, places)
  // Read once, because each call reports a problem.
  const targetType = fields.text('targetType')
  const type = typeOf(fields, targetType, path, report)
  const required = fields.flag('required') ?? true
  const deep = path.length > 2 * MAX_DEPTH
  if (deep) report(path, `nested deeper than ${MAX_DEPTH} conditional imports; expected fewer`)
  const nested = deep ? [] : readList(fields, [...path, 'imports'], report, places)
  if (required && nested.length > 0) {
    report([...path, 'imports'], 'found conditional imports of a required import; set required: false')
  }
  const ofType = type === 'data' ? ofData(fields, required, path, report) : ofTarget(targetType, type)
  return { name, type, required, ...ofType, imports: nested }
}

function ofData(fields: FieldReader, required: boolean, path: YamlPath, report: ReportProblem) {
  const schema = fields.raw('schema')
  const fallback = required ? undefined : defaultOf(fields, path, report)
  return { ...(schema === undefined ? {} : { schema }), ...(fallback === undefined ? {} : { default: fallback }) }
}

function ofTarget(targetType: string | undefined, type: ImportType) {
  if (targetType === undefined) return {}
  return { targetType: type === 'targetMap' ? targetType : qualifiedTargetType(targetType) }
}

function checkName(name: string, path: YamlPath, report: ReportProblem, places: Map<string, YamlPath>): void {
  if (name === '') report(path, 'name is missing; add it')
  const before = places.get(name)
  if (name !== '' && before !== undefined) {
    report([...path, 'name'], `found "${name}", as in ${printPath(before)}; expected unique names`)
  }
  places.set(name, path)
}

function typeOf(
  fields: FieldReader,
  targetType: string | undefined,
  path: YamlPath,
  report: ReportProblem,
): ImportType {
  const written = fields.text('type')
  const type = IMPORT_TYPES.find((known) => known === written)
  if (type !== undefined) {
    if (type !== 'data' && fields.raw('targetType') === undefined) {
      report(path, `targetType is missing; add it for an import of type "${type}"`)
    }
    return type
  }
  if (written !== undefined && written !== '') {
    report([...path, 'type'], `found "${written}"; expected "${IMPORT_TYPES.slice(0, -1).join('", "')}" or "targetMap"`)
  } else if (['type', 'schema', 'targetType'].every((key) => fields.raw(key) === undefined)) {
    report(path, 'type, schema and targetType are missing; set one of them')
  }
  return targetType === undefined ? 'data' : 'target'
}

function defaultOf(fields: FieldReader, path: YamlPath, report: ReportProblem): { value: unknown } | undefined {
  const found = fields.fields('default')
  if (found === undefined) return undefined
  if (!Object.hasOwn(found, 'value')) {
    report([...path, 'default'], 'value is missing; add default.value')
    return undefined
  }
  return { value: found['value'] }
}

/** Short names belong to the default domain. Source: spec/landscaper.md 3.3. */
export function qualifiedTargetType(targetType: string): string {
  return targetType.includes('/') ? targetType : `landscaper.gardener.cloud/${targetType}`
}
