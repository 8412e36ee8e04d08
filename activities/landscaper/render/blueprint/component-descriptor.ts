// Reads component descriptors of the Open Component Model in the schemas `v2` and `ocm.software/v3alpha1` into one type, Component.
// component-scope.ts converts them for templates. Source: spec/landscaper.md 1.2, 3.2, 3.6, 3.13.

import { BlueprintError, joinProblems } from '../render-errors.ts'
import { printPath, readFields, type FieldReader, type Fields, type ReportProblem } from '../field-reader.ts'
import type { YamlPath } from '../../../yaml/read-yaml.ts'
import { isFields } from '../../../../workflows/kit/index.ts'

export const SCHEMA_V2 = 'v2'
export const SCHEMA_V3 = 'ocm.software/v3alpha1'
export type SchemaVersion = typeof SCHEMA_V2 | typeof SCHEMA_V3

/** The label of a reference that holds the descriptor of the referenced component. Source: spec/landscaper.md 1.13. */
export const INLINE_DESCRIPTOR_LABEL = 'landscaper.gardener.cloud/component-descriptor'

/** Distinguishes entries with the same name. */
export type Identity = Readonly<Record<string, string>>

export interface ComponentResource {
  readonly name: string
  readonly version: string
  readonly type: string
  readonly extraIdentity: Identity
  /** The location of the content; its fields depend on the access type. */
  readonly access: Fields
  /** The path in the descriptor, for messages. */
  readonly place: string
}

export interface ComponentReference {
  readonly name: string
  readonly componentName: string
  readonly version: string
  readonly extraIdentity: Identity
  /** The descriptor within the reference. */
  readonly inline: unknown
  readonly place: string
}

export interface Component {
  readonly name: string
  readonly version: string
  readonly schemaVersion: SchemaVersion
  /** All repositories of the component's history; the last one is the current. */
  readonly repositoryContexts: readonly Fields[]
  readonly resources: readonly ComponentResource[]
  readonly references: readonly ComponentReference[]
  /** The descriptor as written. */
  readonly document: Fields
}

/** Limits for the resources and for the references of one descriptor. */
const MAX_ENTRIES = 5000

/** For example `github.com/acme/shop:1.2.0`. */
export function titleOfComponent({ name, version }: Pick<Component, 'name' | 'version'>): string {
  return `${name}:${version}`
}

/**
 * @param place of the descriptor, for messages, e.g. `spec.componentDescriptor.inline`.
 * @throws BlueprintError `ERR_CONFIGURATION_PROBLEM` with all problems, each with its field.
 */
export function readComponent(document: unknown, place: string): Component {
  const problems: string[] = []
  const report: ReportProblem = (path, problem) => problems.push(`${at(place, path)}: ${problem}`)
  const top = readFields(document ?? undefined, [], report, 'exact')
  if (problems.length > 0) throw invalid(problems)
  const schemaVersion = schemaVersionOf(top, report)
  const component = schemaVersion === SCHEMA_V3 ? readV3(top, place, report) : readV2(top, place, report)
  for (const key of ['name', 'version'] as const)
    if (component[key] === '') report(component.path, `${key} is missing; add it`)
  problems.push(...duplicateProblems(component.resources), ...duplicateProblems(component.references))
  if (problems.length > 0) throw invalid(problems)
  const { name, version, repositoryContexts, resources, references } = component
  // Anything else than a map was reported above.
  return { name, version, schemaVersion, repositoryContexts, resources, references, document: document as Fields }
}

function schemaVersionOf(top: FieldReader, report: ReportProblem): SchemaVersion {
  const apiVersion = top.text('apiVersion')
  if (apiVersion === SCHEMA_V3) return SCHEMA_V3
  const found = apiVersion ?? readFields(top.raw('meta'), ['meta'], report, 'exact').text('schemaVersion')
  if (found === SCHEMA_V2) return SCHEMA_V2
  const expected = `meta.schemaVersion ${SCHEMA_V2} or apiVersion ${SCHEMA_V3}`
  report(
    [],
    `found ${found === undefined ? 'no schema version' : `schema version ${shown(found)}`}; expected ${expected}`,
  )
  return SCHEMA_V2
}

type ParsedDescriptor = Omit<Component, 'schemaVersion' | 'document'> & { readonly path: YamlPath }

function readV2(top: FieldReader, place: string, report: ReportProblem): ParsedDescriptor {
  const path = ['component']
  const fields = readFields(top.fields('component'), path, report, 'exact')
  return {
    path,
    ...namesOf(fields),
    repositoryContexts: contextsOf(fields, path, report),
    resources: resourcesOf(fields, path, place, report),
    references: referencesOf(fields, [...path, 'componentReferences'], place, report),
  }
}

function readV3(top: FieldReader, place: string, report: ReportProblem): ParsedDescriptor {
  // A signature does not cover this field, but templates read it first.
  if (top.raw('component') !== undefined)
    report(['component'], `found it in a descriptor of the schema ${SCHEMA_V3}; expected metadata and spec alone`)
  const metadata = readFields(top.fields('metadata'), ['metadata'], report, 'exact')
  const spec = readFields(top.fields('spec'), ['spec'], report, 'exact')
  return {
    path: ['metadata'],
    ...namesOf(metadata),
    repositoryContexts: contextsOf(top, [], report),
    resources: resourcesOf(spec, ['spec'], place, report),
    references: referencesOf(spec, ['spec', 'references'], place, report),
  }
}

function namesOf(fields: FieldReader): Pick<Component, 'name' | 'version'> {
  return { name: fields.text('name') ?? '', version: fields.text('version') ?? '' }
}

function contextsOf(fields: FieldReader, path: YamlPath, report: ReportProblem): readonly Fields[] {
  return entriesOf(fields, [...path, 'repositoryContexts'], report).flatMap(([one, at]) => {
    if (isFields(one)) return [one]
    report(at, 'found no map; expected one')
    return []
  })
}

function resourcesOf(
  fields: FieldReader,
  path: YamlPath,
  place: string,
  report: ReportProblem,
): readonly ComponentResource[] {
  return entriesOf(fields, [...path, 'resources'], report).map(([one, path]) => {
    const entry = readFields(one, path, report, 'exact')
    return {
      name: required(entry, 'name', path, report),
      version: entry.text('version') ?? '',
      type: required(entry, 'type', path, report),
      extraIdentity: entry.textMap('extraIdentity') ?? {},
      access: entry.fields('access') ?? {},
      place: at(place, path),
    }
  })
}

function referencesOf(
  fields: FieldReader,
  path: YamlPath,
  place: string,
  report: ReportProblem,
): readonly ComponentReference[] {
  return entriesOf(fields, path, report).map(([one, path]) => {
    const entry = readFields(one, path, report, 'exact')
    return {
      name: required(entry, 'name', path, report),
      componentName: required(entry, 'componentName', path, report),
      version: required(entry, 'version', path, report),
      extraIdentity: entry.textMap('extraIdentity') ?? {},
      inline: (entry.list('labels') ?? []).filter(isFields).find(({ name }) => name === INLINE_DESCRIPTOR_LABEL)?.[
        'value'
      ],
      place: at(place, path),
    }
  })
}

function entriesOf(
  fields: FieldReader,
  path: YamlPath,
  report: ReportProblem,
): readonly (readonly [unknown, YamlPath])[] {
  const list = fields.list(String(path.at(-1))) ?? []
  if (list.length > MAX_ENTRIES) report(path, `found ${list.length} entries; expected at most ${MAX_ENTRIES}`)
  return list.slice(0, MAX_ENTRIES).map((one, index) => [one, [...path, index]] as const)
}

function required(entry: FieldReader, key: string, path: YamlPath, report: ReportProblem): string {
  const text = entry.text(key)
  if (text === '' || entry.raw(key) === undefined) report(path, `${key} is missing; add it`)
  return text ?? ''
}

// Entries with the same name must differ in version or extraIdentity.
function duplicateProblems(entries: readonly (ComponentResource | ComponentReference)[]): readonly string[] {
  const seen = new Set<string>()
  return entries.flatMap(({ name, version, extraIdentity, place }) => {
    const extra = Object.entries(extraIdentity).sort(([left], [right]) => (left < right ? -1 : 1))
    const key = JSON.stringify([name, version, extra])
    if (seen.has(key))
      return [`${place}: found ${shown(name)} a second time; expected another name, version or extraIdentity`]
    seen.add(key)
    return []
  })
}

function at(place: string, path: YamlPath): string {
  return path.length === 0 ? place : `${place}.${printPath(path)}`
}

const SHOWN = 100

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text)
}

function invalid(problems: readonly string[]): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(problems))
}
