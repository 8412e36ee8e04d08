// Collects the schemas to which a blueprint's schema refers, in the form that the validator expects: `local://` and `blueprint://` become IDs of
// documents, and dialects that Landscaper accepts are converted. Source: spec/landscaper.md 3.11. Runs in the process that checks schemas, because
// schemas may be large, deep and cyclic.

import type { BlueprintFiles } from '../blueprint/blueprint-files.ts'
import { decodePercent, isText, notTextProblem, type FileContent } from '../file-content.ts'
import { type Fields } from '../field-reader.ts'
import { hasFurtherDocuments } from '../../../yaml/further-documents.ts'
import { parseYaml, YamlError } from '../../../yaml/read-yaml.ts'
import { isFields } from '../../../../workflows/kit/kind/json-fields.ts'

export interface SchemaSources {
  /** Schemas for `local://NAME`. */
  readonly localTypes: Fields
  /** Files for `blueprint://PATH`. */
  readonly files: BlueprintFiles
  /** Schemas for `cd://PATH` that were read so far, by `keyOfWanted`. */
  readonly resources?: Readonly<Record<string, ResourceSchema>>
}

/** A schema in a resource of a component. */
export interface ResourceSchema {
  readonly text: FileContent
  /** The component of the resource; references in the schema are relative to it. */
  readonly component: string
}

/** A reference into a component. */
export interface SchemaReference {
  /** The component to which the reference is relative; empty for the blueprint's component. */
  readonly from: string
  readonly uri: string
}

export function referenceKey({ from, uri }: SchemaReference): string {
  return `${from} ${uri}`
}

export interface SchemaDocuments {
  readonly root: unknown
  /** Referenced schemas by the ID that references to them have now. */
  readonly referred: ReadonlyMap<string, unknown>
  /** References without a target. */
  readonly problems: readonly string[]
  /** References to resources that are not among the sources. */
  readonly missing: readonly SchemaReference[]
}

const REFERENCE = /^(local|blueprint|cd):\/\/([^#]*)(#.*)?$/
const MAPS_OF_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
/** The values of these keys are data, not schemas. */
const DATA_KEYS = new Set(['enum', 'const', 'default', 'examples', 'example'])
/** Labels, or keywords with another meaning in the validator; Landscaper ignores them. */
const IGNORED_KEYS = new Set(['$schema', 'id', 'nullable', '$async', 'discriminator'])

interface Collection {
  readonly sources: SchemaSources
  /** IDs by reference, e.g. `local://port`. */
  readonly ids: Map<string, string>
  readonly pending: (SchemaSource & { readonly id: string })[]
  readonly problems: string[]
  readonly missing: SchemaReference[]
  /** The component of the current document; empty for the blueprint. */
  from: string
}

interface SchemaSource {
  readonly schema: unknown
  readonly from: string
}

/** Follows all references in `schema`, each document once. */
export function collectDocuments(schema: unknown, sources: SchemaSources): SchemaDocuments {
  const collection: Collection = { sources, ids: new Map(), pending: [], problems: [], missing: [], from: '' }
  const root = convertSchema(schema, collection)
  const referred = new Map<string, unknown>()
  for (let next = collection.pending.shift(); next !== undefined; next = collection.pending.shift()) {
    collection.from = next.from
    referred.set(next.id, convertSchema(next.schema, collection))
  }
  return { root, referred, problems: collection.problems, missing: collection.missing }
}

function convertSchema(schema: unknown, collection: Collection): unknown {
  if (Array.isArray(schema)) return schema.map((entry) => convertSchema(entry, collection))
  if (!isFields(schema)) return schema
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (IGNORED_KEYS.has(key) && !isFields(value)) return []
    if (DATA_KEYS.has(key)) return [[key, value]]
    // In draft 7 such an `$id` names an anchor.
    if (key === '$id' && typeof value === 'string' && value.startsWith('#')) return [['$anchor', value.slice(1)]]
    if (key === '$ref' && typeof value === 'string') return [[key, convertReference(value, collection)]]
    if (MAPS_OF_SCHEMAS.has(key) && isFields(value)) return [[key, convertMap(value, collection)]]
    return [[key, convertSchema(value, collection)]]
  })
  return withNumericBounds(Object.fromEntries(entries))
}

function convertMap(schemas: Fields, collection: Collection): Fields {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convertSchema(schema, collection)]))
}

// In draft 4 exclusiveMinimum is a boolean that excludes the value of minimum itself.
function withNumericBounds(schema: Fields): Fields {
  const bounds = [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const
  return bounds.reduce<Fields>((changed, [limit, exclusive]) => {
    const { [exclusive]: flag, [limit]: bound, ...rest } = changed
    if (typeof flag !== 'boolean') return changed
    return bound === undefined ? rest : { ...rest, [flag ? exclusive : limit]: bound }
  }, schema)
}

function convertReference(reference: string, collection: Collection): string {
  const [, scheme, name = '', pointer = ''] = REFERENCE.exec(reference) ?? []
  if (scheme === undefined) return reference
  if (scheme !== 'cd' && collection.from !== '') {
    const found = `not available to a schema of component "${collection.from}"; use cd://`
    collection.problems.push(`${scheme}://${name}: ${found}`)
    return reference
  }
  const path = scheme === 'blueprint' ? normalizePath(name) : name
  const key = `${collection.from} ${scheme}://${path}`
  const known = collection.ids.get(key)
  if (known !== undefined) return known + pointer
  const id = `pawl://schema/${collection.ids.size}`
  collection.ids.set(key, id)
  const found = schemaAt(scheme, path, collection)
  if (found === undefined) return reference
  collection.pending.push({ id, ...found })
  return id + pointer
}

function schemaAt(scheme: string, path: string, collection: Collection): SchemaSource | undefined {
  if (scheme === 'local') return localType(path, collection)
  return scheme === 'blueprint' ? fileSchema(path, collection) : resourceSchema(`cd://${path}`, collection)
}

function localType(name: string, { sources, problems }: Collection): SchemaSource | undefined {
  const names = [name, decodePercent(name)]
  const found = names.find((candidate) => Object.hasOwn(sources.localTypes, candidate))
  if (found !== undefined) return { schema: sources.localTypes[found], from: '' }
  problems.push(`local://${name}: no such type in localTypes of blueprint.yaml; add it`)
  return undefined
}

function resourceSchema(uri: string, { sources, problems, missing, from }: Collection): SchemaSource | undefined {
  const key = referenceKey({ from, uri })
  const found = Object.hasOwn(sources.resources ?? {}, key) ? sources.resources?.[key] : undefined
  if (found !== undefined) return parseSchema(found.text, uri, found.component, problems)
  missing.push({ from, uri })
  return undefined
}

function fileSchema(path: string, { sources, problems }: Collection): SchemaSource | undefined {
  const found = [path, decodePercent(path)].find((candidate) => Object.hasOwn(sources.files, candidate))
  if (found === undefined) {
    problems.push(`blueprint://${path}: no such file in the blueprint; add it`)
    return undefined
  }
  return parseSchema(sources.files[found] ?? '', `blueprint://${path}`, '', problems)
}

function parseSchema(text: FileContent, name: string, from: string, problems: string[]): SchemaSource | undefined {
  if (!isText(text)) {
    problems.push(`${name}: ${notTextProblem(text)}`)
    return undefined
  }
  if (hasFurtherDocuments(text)) {
    problems.push(`${name}: found more than one YAML document; expected JSON`)
    return undefined
  }
  try {
    return { schema: parseYaml(text).value, from }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    problems.push(`${name}: line ${error.line}, column ${error.column}: ${error.reason}; expected JSON`)
    return undefined
  }
}

function normalizePath(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}
