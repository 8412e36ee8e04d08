// What a blueprint says it imports. Source: spec/landscaper.md 3.3; quirk 19 (types of target maps are taken as written).

import { printPath, readFields, type FieldReader, type ReportProblem } from './field-reader.ts'
import type { YamlPath } from '../../yaml/read-yaml.ts'

const IMPORT_TYPES = ['data', 'target', 'targetList', 'targetMap'] as const
const MAX_DEPTH = 32

export type ImportType = (typeof IMPORT_TYPES)[number]

export interface ImportDefinition {
  readonly name: string
  readonly type: ImportType
  readonly required: boolean
  /** Of data; without one no value can be accepted. */
  readonly schema?: unknown
  /** Of targets; with the default domain put in front of a short name, except in a target map. */
  readonly targetType?: string
  /** Of optional data: the value where none is given. */
  readonly default?: { readonly value: unknown }
  /** Counted only where this import is data and has a value. */
  readonly imports: readonly ImportDefinition[]
}

/** Reads the `imports` of a blueprint, conditional ones included; names are unique among all of them. */
export function readImports(blueprint: FieldReader, report: ReportProblem): readonly ImportDefinition[] {
  const places = new Map<string, YamlPath>()
  return readList(blueprint, ['imports'], report, places)
}

/** Imports, those in others counted; also exports: each is held against a schema. */
export const MOST_DEFINITIONS = 2000

function readList(
  owner: FieldReader,
  path: YamlPath,
  report: ReportProblem,
  places: Map<string, YamlPath>,
): readonly ImportDefinition[] {
  const list = owner.list('imports') ?? []
  const found = places.size + list.length
  if (found > MOST_DEFINITIONS) {
    report(path, `found ${found} imports, expected at most ${MOST_DEFINITIONS}, those in others counted`)
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
  // Read once, because each reading reports.
  const targetType = fields.text('targetType')
  const type = typeOf(fields, targetType, path, report)
  const required = fields.flag('required') ?? true
  const deep = path.length > 2 * MAX_DEPTH
  if (deep) report(path, `nested deeper than ${MAX_DEPTH} conditional imports, expected fewer`)
  const nested = deep ? [] : readList(fields, [...path, 'imports'], report, places)
  if (required && nested.length > 0) {
    report([...path, 'imports'], 'found conditional imports below a required import, expected required: false')
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
  if (name === '') report(path, 'found no name, expected one')
  const before = places.get(name)
  if (name !== '' && before !== undefined) {
    report([...path, 'name'], `found ${name}, which is ${printPath(before)} too, expected unique names`)
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
      report(path, `found no targetType, expected one for a ${type}`)
    }
    return type
  }
  if (written !== undefined && written !== '') {
    report([...path, 'type'], `found ${written}, expected ${IMPORT_TYPES.slice(0, -1).join(', ')} or targetMap`)
  } else if (['type', 'schema', 'targetType'].every((key) => fields.raw(key) === undefined)) {
    report(path, 'found neither type nor schema nor targetType, expected one of them')
  }
  return targetType === undefined ? 'data' : 'target'
}

function defaultOf(fields: FieldReader, path: YamlPath, report: ReportProblem): { value: unknown } | undefined {
  const found = fields.fields('default')
  if (found === undefined) return undefined
  if (!Object.hasOwn(found, 'value')) {
    report([...path, 'default'], 'found no value, expected default.value')
    return undefined
  }
  return { value: found['value'] }
}

/** Short names belong to the default domain. Source: spec/landscaper.md 3.3. */
export function qualifiedTargetType(targetType: string): string {
  return targetType.includes('/') ? targetType : `landscaper.gardener.cloud/${targetType}`
}
