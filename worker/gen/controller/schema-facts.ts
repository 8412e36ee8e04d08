// What the schema of a kind says to a document: which of its fields are text. The schema may be anybody's, so nothing is expected of it.

import type { FieldSort, KindFacts } from '../../../workflows/kit/dsl/index.ts'

type Schema = Readonly<Record<string, unknown>>

/** The facts of a kind whose objects have this schema, as in a CustomResourceDefinition. */
export function schemaFacts(schema: unknown, known: Pick<KindFacts, 'selectableFields' | 'isNamespaced'>): KindFacts {
  return {
    fieldAt: (path) => sortAt(schema, path),
    namesBelow: (path) =>
      Object.keys(schemaAt(below(schema, path), 'properties')).filter((name) => name !== 'metadata'),
    ...known,
  }
}

function sortAt(schema: unknown, path: readonly string[]): FieldSort | undefined {
  const found = below(schema, path)
  if (!isSchema(found)) return undefined
  if (isOpen(found) || found['x-kubernetes-int-or-string'] === true) return 'anything'
  return found['type'] === 'string' ? 'text' : 'other'
}

function below(schema: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined || !isSchema(schema)) return schema
  const properties = schemaAt(schema, 'properties')
  if (Object.hasOwn(properties, name)) return below(properties[name], rest)
  // Of an open object what is not declared may be there all the same.
  if (isOpen(schema)) return schema
  return isSchema(schema['additionalProperties']) ? below(schema['additionalProperties'], rest) : undefined
}

function schemaAt(schema: unknown, key: string): Schema {
  const found = isSchema(schema) ? schema[key] : undefined
  return isSchema(found) ? found : {}
}

function isOpen(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
