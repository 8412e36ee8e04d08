// Brings the schemas that a blueprint's schema refers to together, and into the form that the validator takes: `local://` and
// `blueprint://` become identifiers of documents; dialects that the original accepts are evened out. Source: spec/landscaper.md 3.11.
// Runs inside the process that checks schemas, since schemas may be as large, deep and cyclic as their author likes.

import type { BlueprintFiles } from './blueprint-files.ts'
import { isFields, type Fields } from './field-reader.ts'
import { parseYaml, YamlError } from './yaml.ts'

export interface SchemaSources {
  /** For `local://NAME`. */
  readonly localTypes: Fields
  /** For `blueprint://PATH`. */
  readonly files: BlueprintFiles
}

export interface SchemaDocuments {
  readonly root: unknown
  /** By the identifier that references to them now have. */
  readonly referred: ReadonlyMap<string, unknown>
  /** References that lead nowhere. */
  readonly problems: readonly string[]
  /** References that the original would follow, and that are not followed here. */
  readonly unsupported: readonly string[]
}

const REFERENCE = /^(local|blueprint):\/\/([^#]*)(#.*)?$/
const MAPS_OF_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])
/** What stands below them is data. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'example'])
/** Labels, or words of other dialects with a meaning of their own for the validator; the original ignores them. */
const IGNORED = new Set(['$schema', 'id', 'nullable', '$async', 'discriminator'])

interface Collection {
  readonly sources: SchemaSources
  /** Name in references, e.g. `local://port`, to identifier. */
  readonly ids: Map<string, string>
  readonly pending: { readonly id: string; readonly schema: unknown }[]
  readonly problems: string[]
  readonly unsupported: string[]
}

/** Follows all references from `schema` on, each document once. */
export function collectDocuments(schema: unknown, sources: SchemaSources): SchemaDocuments {
  const collection: Collection = { sources, ids: new Map(), pending: [], problems: [], unsupported: [] }
  const root = convertSchema(schema, collection)
  const referred = new Map<string, unknown>()
  for (let next = collection.pending.shift(); next !== undefined; next = collection.pending.shift()) {
    referred.set(next.id, convertSchema(next.schema, collection))
  }
  return { root, referred, problems: collection.problems, unsupported: collection.unsupported }
}

function convertSchema(schema: unknown, collection: Collection): unknown {
  if (Array.isArray(schema)) return schema.map((entry) => convertSchema(entry, collection))
  if (!isFields(schema)) return schema
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (IGNORED.has(key) && !isFields(value)) return []
    if (DATA.has(key)) return [[key, value]]
    // As in draft 7, where a place is named so.
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

// As in draft 4, where exclusiveMinimum says of minimum that it is not itself allowed.
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
  if (scheme === undefined) {
    if (reference.startsWith('cd://')) collection.unsupported.push(reference)
    return reference
  }
  const path = scheme === 'blueprint' ? inTree(name) : name
  const key = `${scheme}://${path}`
  const known = collection.ids.get(key)
  if (known !== undefined) return known + pointer
  const id = `pawl://schema/${collection.ids.size}`
  collection.ids.set(key, id)
  const found = scheme === 'local' ? localType(path, collection) : fileSchema(path, collection)
  if (found === undefined) return reference
  collection.pending.push({ id, schema: found.schema })
  return id + pointer
}

function localType(name: string, { sources, problems }: Collection): { schema: unknown } | undefined {
  const names = [name, decoded(name)]
  const found = names.find((candidate) => Object.hasOwn(sources.localTypes, candidate))
  if (found !== undefined) return { schema: sources.localTypes[found] }
  problems.push(`local://${name}: found no local type of that name in the blueprint`)
  return undefined
}

function fileSchema(path: string, { sources, problems }: Collection): { schema: unknown } | undefined {
  const found = [path, decoded(path)].find((candidate) => Object.hasOwn(sources.files, candidate))
  if (found === undefined) {
    problems.push(`blueprint://${path}: found no file of that name in the blueprint`)
    return undefined
  }
  try {
    return { schema: parseYaml(sources.files[found] ?? '').value }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    problems.push(`blueprint://${path}: line ${error.line}, column ${error.column}: ${error.reason}; expected JSON`)
    return undefined
  }
}

function inTree(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}
