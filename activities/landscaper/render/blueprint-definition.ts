// What a blueprint.yaml says. Read leniently, as the original does: unknown keys mean nothing, unless they are misspelt ones of ours.
// Source: spec/landscaper.md 3.1-3.6.

import { nearMisses } from '../../../workflows/kit/index.ts'
import { BlueprintError, joinProblems } from './blueprint-error.ts'
import { MOST_DEFINITIONS, qualifiedTargetType, readImports, type ImportDefinition } from './blueprint-imports.ts'
import { isFields, printPath, readFields, type FieldReader, type Fields, type ReportProblem } from './field-reader.ts'
import { parseReadByGo, parseYaml, YamlError, type ParsedYaml, type YamlPath } from '../../yaml/read-yaml.ts'

export const DEFINITION_FILE = 'blueprint.yaml'
// Source: spec/landscaper.md 3.2; `jsonSchema` is what many write for jsonSchemaVersion, without effect.
const KEYS = [
  ...['apiVersion', 'kind', 'annotations', 'jsonSchema', 'jsonSchemaVersion', 'localTypes', 'imports', 'exports'],
  ...['importExecutions', 'deployExecutions', 'exportExecutions', 'subinstallations', 'subinstallationExecutions'],
]
/** Each may take as long as a template may: what a blueprint asks for ends some day. */
export const MOST_EXECUTIONS = 1000
/** Each is an object with a run of its own. */
export const MOST_SUBINSTALLATIONS = 1000
/** A label only: all schemas are read alike. Source: spec/landscaper.md 3.2 and 3.11. */
const DEFAULT_SCHEMA_VERSION = 'https://json-schema.org/draft/2019-09/schema'

export interface TemplateExecutor {
  /** Empty where the blueprint gives none. Its state is kept under it. */
  readonly name: string
  /** Where it stands, e.g. `deployExecutions[0]`; there where it has no name. */
  readonly place?: string
  readonly type: string
  /** Either the path of the template in the blueprint, or the template itself. */
  readonly file?: string
  readonly template?: unknown
}

export interface ExportDefinition {
  readonly name: string
  readonly type: 'data' | 'target'
  readonly schema?: unknown
  /** With the default domain put in front of a short name. */
  readonly targetType?: string
}

/** What blueprint.yaml says. */
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
 * @param json as which Go reads the text; absent: our parser reads it.
 * @throws BlueprintError with all problems and their lines; its cause is a YamlError where the text is not YAML.
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
    report([found], `is not known; did you mean ${meant}?`)
  const kind = fields.text('kind') ?? 'Blueprint'
  if (kind !== 'Blueprint') report(['kind'], `found ${kind}, expected Blueprint`)
  const annotations = fields.fields('annotations')
  const definition = {
    ...(annotations !== undefined && { annotations }),
    localTypes: fields.fields('localTypes') ?? {},
    jsonSchemaVersion: fields.text('jsonSchemaVersion') ?? DEFAULT_SCHEMA_VERSION,
    imports: readImports(fields, report),
    importExecutions: readExecutors(fields, 'importExecutions', report),
    deployExecutions: readExecutors(fields, 'deployExecutions', report),
    exportExecutions: readExecutors(fields, 'exportExecutions', report),
    subinstallations: listOf(fields, 'subinstallations', MOST_SUBINSTALLATIONS, report),
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
    const found = `line ${error.line}, column ${error.column}: ${error.message}`
    throw invalid(`${DEFINITION_FILE}, ${found}; expected YAML`, error)
  }
}

/** How messages name an execution. */
export function titleOf({ name, place = '' }: Pick<TemplateExecutor, 'name' | 'place'>): string {
  return name === '' ? place : name
}

/** Executed in the order given; a name only tells them apart in messages and states, and may be absent. */
function readExecutors(blueprint: FieldReader, key: string, report: ReportProblem): readonly TemplateExecutor[] {
  return listOf(blueprint, key, MOST_EXECUTIONS, report).map((value, index) => {
    const path = [key, index]
    const fields = readFields(value, path, report, 'exact')
    const name = fields.text('name') ?? ''
    const type = required(fields, 'type', path, report)
    const file = fields.text('file')
    const template = fields.raw('template')
    if ((file === undefined) === (template === undefined)) {
      report(
        path,
        `found ${file === undefined ? 'neither file nor template' : 'both file and template'}, expected one of them`,
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
  const definitions = listOf(blueprint, 'exports', MOST_DEFINITIONS, report).map((value, index) => {
    const path = ['exports', index]
    const fields = readFields(value, path, report, 'exact')
    const name = required(fields, 'name', path, report)
    const schema = fields.raw('schema')
    const targetType = fields.text('targetType')
    const type = fields.text('type') ?? (targetType === undefined ? 'data' : 'target')
    if (type !== 'data' && type !== 'target') report([...path, 'type'], `found ${type}, expected data or target`)
    if (type === 'data' && schema === undefined) report(path, 'found no schema, expected one for a data export')
    if (type === 'target' && targetType === undefined) report(path, 'found no targetType, expected one for a target')
    return {
      name,
      type: type === 'target' ? ('target' as const) : ('data' as const),
      ...(schema === undefined ? {} : { schema }),
      ...(targetType === undefined ? {} : { targetType: qualifiedTargetType(targetType) }),
    }
  })
  const seen = new Set<string>()
  for (const [index, { name }] of definitions.entries()) {
    if (seen.has(name)) report(['exports', index, 'name'], `found ${name} twice, expected unique names`)
    seen.add(name)
  }
  return definitions
}

/** A list that is refused as a whole when it is longer than `most`. */
function listOf(blueprint: FieldReader, key: string, most: number, report: ReportProblem): readonly unknown[] {
  const list = blueprint.list(key) ?? []
  if (list.length <= most) return list
  report([key], `found ${list.length} entries, expected at most ${most}`)
  return []
}

function required(fields: FieldReader, key: string, path: YamlPath, report: ReportProblem): string {
  const text = fields.text(key)
  if (text === '' || (text === undefined && fields.raw(key) === undefined))
    report(path, `found no ${key}, expected one`)
  return text ?? ''
}

function invalid(message: string, cause?: unknown): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message, { cause })
}
