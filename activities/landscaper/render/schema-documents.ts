// Brings the schemas that a blueprint's schema refers to together, and into the form that the validator takes: `local://` and
// `blueprint://` become identifiers of documents; dialects that the original accepts are evened out. Source: spec/landscaper.md 3.11.
// Runs inside the process that checks schemas, since schemas may be as large, deep and cyclic as their author likes.

import type { BlueprintFiles } from './blueprint-files.ts'
import { decoded } from './decoded.ts'
import { isText, notText, type FileContent } from './file-content.ts'
import { isFields, type Fields } from './field-reader.ts'
import { hasFurtherDocuments } from '../../yaml/further-documents.ts'
import { parseYaml, YamlError } from '../../yaml/read-yaml.ts'

export interface SchemaSources {
  /** For `local://NAME`. */
  readonly localTypes: Fields
  /** For `blueprint://PATH`. */
  readonly files: BlueprintFiles
  /** For `cd://PATH`, as far as they were asked for: by `keyOfWanted`. */
  readonly resources?: Readonly<Record<string, ResourceSchema>>
}

/** A schema that is a resource of a component. */
export interface ResourceSchema {
  readonly text: FileContent
  /** Of which it is a resource; references in it begin there. */
  readonly component: string
}

/** A reference that leads into a component. */
export interface WantedSchema {
  /** Where it begins; empty: the component that the blueprint is of. */
  readonly from: string
  readonly uri: string
}

export function keyOfWanted({ from, uri }: WantedSchema): string {
  return `${from} ${uri}`
}

export interface SchemaDocuments {
  readonly root: unknown
  /** By the identifier that references to them now have. */
  readonly referred: ReadonlyMap<string, unknown>
  /** References that lead nowhere. */
  readonly problems: readonly string[]
  /** References to resources that are not among the sources. */
  readonly wanted: readonly WantedSchema[]
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
/** What stands below them is data. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'example'])
/** Labels, or words of other dialects with a meaning of their own for the validator; the original ignores them. */
const IGNORED = new Set(['$schema', 'id', 'nullable', '$async', 'discriminator'])

interface Collection {
  readonly sources: SchemaSources
  /** Name in references, e.g. `local://port`, to identifier. */
  readonly ids: Map<string, string>
  readonly pending: (FoundSchema & { readonly id: string })[]
  readonly problems: string[]
  readonly wanted: WantedSchema[]
  /** Of which the document at hand is; empty: it is the blueprint's. */
  from: string
}

interface FoundSchema {
  readonly schema: unknown
  readonly from: string
}

/** Follows all references from `schema` on, each document once. */
export function collectDocuments(schema: unknown, sources: SchemaSources): SchemaDocuments {
  const collection: Collection = { sources, ids: new Map(), pending: [], problems: [], wanted: [], from: '' }
  const root = convertSchema(schema, collection)
  const referred = new Map<string, unknown>()
  for (let next = collection.pending.shift(); next !== undefined; next = collection.pending.shift()) {
    collection.from = next.from
    referred.set(next.id, convertSchema(next.schema, collection))
  }
  return { root, referred, problems: collection.problems, wanted: collection.wanted }
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
  if (scheme === undefined) return reference
  if (scheme !== 'cd' && collection.from !== '') {
    const found = `found in a schema of component ${collection.from}, which has neither; expected cd://`
    collection.problems.push(`${scheme}://${name}: ${found}`)
    return reference
  }
  const path = scheme === 'blueprint' ? inTree(name) : name
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

function schemaAt(scheme: string, path: string, collection: Collection): FoundSchema | undefined {
  if (scheme === 'local') return localType(path, collection)
  return scheme === 'blueprint' ? fileSchema(path, collection) : resourceSchema(`cd://${path}`, collection)
}

function localType(name: string, { sources, problems }: Collection): FoundSchema | undefined {
  const names = [name, decoded(name)]
  const found = names.find((candidate) => Object.hasOwn(sources.localTypes, candidate))
  if (found !== undefined) return { schema: sources.localTypes[found], from: '' }
  problems.push(`local://${name}: found no local type of that name in the blueprint`)
  return undefined
}

function resourceSchema(uri: string, { sources, problems, wanted, from }: Collection): FoundSchema | undefined {
  const key = keyOfWanted({ from, uri })
  const found = Object.hasOwn(sources.resources ?? {}, key) ? sources.resources?.[key] : undefined
  if (found !== undefined) return parsed(found.text, uri, found.component, problems)
  wanted.push({ from, uri })
  return undefined
}

function fileSchema(path: string, { sources, problems }: Collection): FoundSchema | undefined {
  const found = [path, decoded(path)].find((candidate) => Object.hasOwn(sources.files, candidate))
  if (found === undefined) {
    problems.push(`blueprint://${path}: found no file of that name in the blueprint`)
    return undefined
  }
  return parsed(sources.files[found] ?? '', `blueprint://${path}`, '', problems)
}

function parsed(text: FileContent, name: string, from: string, problems: string[]): FoundSchema | undefined {
  if (!isText(text)) {
    problems.push(`${name}: ${notText(text)}`)
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

function inTree(path: string): string {
  return path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')
}
