// Exports of an Installation: merging what several executions produced, and holding it against the blueprint's definitions.
// Source: spec/landscaper.md 3.4 and 3.6. Whole JSON schemas are not checked here yet, only their top-level type.

import type { Blueprint, ExportDefinition } from './blueprint.ts'
import { BlueprintError } from './blueprint-error.ts'
import { isFields, typeName, type Fields } from './field-reader.ts'

/** Merges maps key by key, at any depth; of everything else the later value wins. Neither argument is changed. */
export function mergeExports(earlier: Fields, later: Fields): Fields {
  const keys = new Set([...Object.keys(earlier), ...Object.keys(later)])
  // fromEntries defines own properties, also for a key such as __proto__.
  return Object.fromEntries(
    [...keys].map((key) => {
      const [before, after] = [own(earlier, key), own(later, key)]
      if (isFields(before) && isFields(after)) return [key, mergeExports(before, after)]
      return [key, Object.hasOwn(later, key) ? after : before]
    }),
  )
}

export interface CheckedExports {
  /** What the blueprint defines and an execution produced. */
  readonly exports: Fields
  /** Produced without a definition, hence left out. */
  readonly dropped: readonly string[]
}

/**
 * @param requested names that the Installation lists in `spec.exports`.
 * @throws BlueprintError `SchemaValidationFailed` with every mismatch, `ExportNotProduced` with every requested name that is missing.
 */
export function checkExports(blueprint: Blueprint, produced: Fields, requested: readonly string[]): CheckedExports {
  const defined = blueprint.exports.filter(({ name }) => Object.hasOwn(produced, name))
  const mismatches = defined.flatMap((definition) => mismatchOf(definition, own(produced, definition.name)) ?? [])
  if (mismatches.length > 0) throw new BlueprintError('SchemaValidationFailed', mismatches.join('; '))
  const names = new Set(defined.map(({ name }) => name))
  const missing = requested.filter((name) => !names.has(name))
  if (missing.length > 0) {
    const text = `export ${missing.join(', ')}: is not defined, expected the blueprint to define and produce it`
    throw new BlueprintError('ExportNotProduced', text)
  }
  return {
    exports: Object.fromEntries(defined.map(({ name }) => [name, own(produced, name)])),
    dropped: Object.keys(produced).filter((name) => !names.has(name)),
  }
}

function mismatchOf(definition: ExportDefinition, value: unknown): string | undefined {
  if (definition.type === 'data') return dataMismatch(definition, value)
  const found = isFields(value) ? own(value, 'type') : undefined
  if (found === definition.targetType) return undefined
  const shown = typeof found === 'string' ? 'a target of another type' : typeName(value)
  return `export ${definition.name}: found ${shown}, expected a target of type ${definition.targetType ?? ''}`
}

const JSON_TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isFields,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

function dataMismatch({ name, schema }: ExportDefinition, value: unknown): string | undefined {
  const type = isFields(schema) ? own(schema, 'type') : undefined
  const wanted = (Array.isArray(type) ? type : [type]).filter((entry) => typeof entry === 'string')
  if (wanted.length === 0 || wanted.some((entry) => JSON_TYPES[entry]?.(value) ?? false)) return undefined
  return `export ${name}: found ${typeName(value)}, expected type ${wanted.join(' or ')}`
}

function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
