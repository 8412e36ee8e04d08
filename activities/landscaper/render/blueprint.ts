// A blueprint: its files and what blueprint.yaml says. Read leniently, as the original does: unknown keys mean nothing, unless
// they are misspelt ones of ours.
// Source: spec/landscaper.md 3.1-3.6. Component references and sub-installations are refused until they exist here.

import { nearMisses } from '../../../workflows/kit/index.ts'
import { BlueprintError, joinProblems } from './blueprint-error.ts'
import { readInlineFiles, type BlueprintFiles } from './blueprint-files.ts'
import { qualifiedTargetType, readImports, type ImportDefinition } from './blueprint-imports.ts'
import {
  isFields,
  printPath,
  readFields,
  typeName,
  type FieldReader,
  type Fields,
  type ReportProblem,
} from './field-reader.ts'
import { parseYaml, YamlError, type ParsedYaml, type YamlPath } from './yaml.ts'

const DEFINITION_FILE = 'blueprint.yaml'
// Source: spec/landscaper.md 3.2; `jsonSchema` is what many write for jsonSchemaVersion, without effect.
const KEYS = [
  ...['apiVersion', 'kind', 'annotations', 'jsonSchema', 'jsonSchemaVersion', 'localTypes', 'imports', 'exports'],
  ...['importExecutions', 'deployExecutions', 'exportExecutions', 'subinstallations', 'subinstallationExecutions'],
]
/** A label only: all schemas are read alike. Source: spec/landscaper.md 3.2 and 3.11. */
const DEFAULT_SCHEMA_VERSION = 'https://json-schema.org/draft/2019-09/schema'

export interface TemplateExecutor {
  readonly name: string
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

export interface Blueprint {
  readonly files: BlueprintFiles
  /** JSON schemas by name, for `local://NAME`. */
  readonly localTypes: Fields
  readonly jsonSchemaVersion: string
  readonly imports: readonly ImportDefinition[]
  readonly importExecutions: readonly TemplateExecutor[]
  readonly deployExecutions: readonly TemplateExecutor[]
  readonly exportExecutions: readonly TemplateExecutor[]
  readonly exports: readonly ExportDefinition[]
}

/**
 * Reads the `spec.blueprint` of an Installation.
 *
 * @throws BlueprintError `NotSupported` for what Pawl cannot do yet, else `ERR_CONFIGURATION_PROBLEM` with all problems and their lines.
 */
export function readBlueprint(spec: unknown): Blueprint {
  if (!isFields(spec)) throw invalid(`spec.blueprint: found ${typeName(spec)}, expected inline or ref`)
  const { ref, inline } = spec
  if (isFields(ref)) {
    throw new BlueprintError(
      'NotSupported',
      'spec.blueprint.ref: component references are not supported yet, expected inline',
    )
  }
  if (!isFields(inline)) throw invalid(`spec.blueprint.inline: found ${typeName(inline)}, expected a map`)
  const files = readInlineFiles(inline['filesystem'])
  const text = files[DEFINITION_FILE]
  if (text === undefined)
    throw invalid(`spec.blueprint.inline.filesystem: found ${listed(files)}, expected a file ${DEFINITION_FILE}`)
  return { files, ...readDefinition(text) }
}

const MOST_LISTED = 5

/** The files by their names, for whoever has mistyped one. */
function listed(files: BlueprintFiles): string {
  const paths = Object.keys(files)
  const more = paths.length > MOST_LISTED ? ` and ${paths.length - MOST_LISTED} more` : ''
  return paths.length === 0 ? 'no file' : `${paths.slice(0, MOST_LISTED).join(', ')}${more}`
}

function readDefinition(text: string): Omit<Blueprint, 'files'> {
  const yaml = parseDefinition(text)
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
  const definition = {
    localTypes: fields.fields('localTypes') ?? {},
    jsonSchemaVersion: fields.text('jsonSchemaVersion') ?? DEFAULT_SCHEMA_VERSION,
    imports: readImports(fields, report),
    importExecutions: readExecutors(fields, 'importExecutions', report),
    deployExecutions: readExecutors(fields, 'deployExecutions', report),
    exportExecutions: readExecutors(fields, 'exportExecutions', report),
    exports: readExports(fields, report),
  }
  if (problems.length > 0) throw invalid(joinProblems(problems))
  refuseUnsupported(fields)
  return definition
}

function parseDefinition(text: string): ParsedYaml {
  try {
    return parseYaml(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const found = `line ${error.line}, column ${error.column}: ${error.message}`
    throw invalid(`${DEFINITION_FILE}, ${found}; expected YAML`, error)
  }
}

/** Executed in the order given; a name is only needed to tell them apart in messages and states. */
function readExecutors(blueprint: FieldReader, key: string, report: ReportProblem): readonly TemplateExecutor[] {
  return (blueprint.list(key) ?? []).map((value, index) => {
    const path = [key, index]
    const fields = readFields(value, path, report, 'exact')
    const name = required(fields, 'name', path, report)
    const type = required(fields, 'type', path, report)
    const file = fields.text('file')
    const template = fields.raw('template')
    if ((file === undefined) === (template === undefined)) {
      report(
        path,
        `found ${file === undefined ? 'neither file nor template' : 'both file and template'}, expected one of them`,
      )
    }
    return { name, type, ...(file === undefined ? {} : { file }), ...(template === undefined ? {} : { template }) }
  })
}

function readExports(blueprint: FieldReader, report: ReportProblem): readonly ExportDefinition[] {
  const definitions = (blueprint.list('exports') ?? []).map((value, index) => {
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

function required(fields: FieldReader, key: string, path: YamlPath, report: ReportProblem): string {
  const text = fields.text(key)
  if (text === '' || (text === undefined && fields.raw(key) === undefined))
    report(path, `found no ${key}, expected one`)
  return text ?? ''
}

// Ignoring these would report success for what was never done.
function refuseUnsupported(fields: FieldReader): void {
  const found = ['subinstallations', 'subinstallationExecutions'].filter((key) => (fields.list(key) ?? []).length > 0)
  if (found.length > 0) {
    throw new BlueprintError('NotSupported', `${DEFINITION_FILE}: ${found.join(', ')} are not supported yet`)
  }
}

function invalid(message: string, cause?: unknown): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message, { cause })
}
