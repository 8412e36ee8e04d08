// Converts field changes to a JSON patch. Source: RFC 6902, RFC 6901.
//
//   J1. A change to the present value creates no operation.
//   J2. Missing parent objects are created once.

import { isDeepStrictEqual } from 'node:util'

import type { FieldChange } from '../../workflows/kit/index.ts'
import { isFields, fieldsOf, type JsonFields } from '../../workflows/kit/index.ts'

export interface PatchOperation {
  readonly op: 'add' | 'remove'
  readonly path: string
  readonly value?: unknown
}

/** The operations in the order of the changes, and the changed object. */
export function createPatch(
  object: JsonFields,
  changes: readonly FieldChange[],
): { readonly operations: readonly PatchOperation[]; readonly object: JsonFields } {
  const operations: PatchOperation[] = []
  let now = object
  for (const { path, value } of changes) {
    const found = path.reduce<unknown>((at, name) => fieldsOf(at)[name], now)
    if (isDeepStrictEqual(found, value)) continue // J1
    operations.push(...operationsFor(now, path, value))
    now = withField(now, path, value)
  }
  return { operations, object: now }
}

function operationsFor(object: JsonFields, path: readonly string[], value: unknown): readonly PatchOperation[] {
  const at = (depth: number) =>
    path
      .slice(0, depth)
      .map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      .join('')
  if (value === undefined) return [{ op: 'remove', path: at(path.length) }]
  const parents = path.slice(0, -1)
  const depth = parents.findIndex(
    (_, index) => !isFields(path.slice(0, index + 1).reduce<unknown>((up, name) => fieldsOf(up)[name], object)),
  )
  if (depth === -1) return [{ op: 'add', path: at(path.length), value }]
  // J2
  const made = path.slice(depth + 1).reduceRight<unknown>((below, name) => ({ [name]: below }), value)
  return [{ op: 'add', path: at(depth + 1), value: made }]
}

function withField(object: JsonFields, [name = '', ...below]: readonly string[], value: unknown): JsonFields {
  if (below.length > 0) return { ...object, [name]: withField(fieldsOf(object[name]), below, value) }
  if (value !== undefined) return { ...object, [name]: value }
  return Object.fromEntries(Object.entries(object).filter(([other]) => other !== name))
}
