// Exports of an Installation: merges the results of several executions, validates them against the blueprint's definitions, and applies mappings.
// Source: spec/landscaper.md 3.4, 3.6 and 3.9.

import type { Blueprint } from './blueprint/blueprint.ts'
import { BlueprintError, joinProblems } from './render-errors.ts'
import { typeName, type Fields } from './field-reader.ts'
import { findViolations } from './schema/validation.ts'
import { renderMappings } from './executor.ts'
import type { TemplateEngine } from './engine/template-engine.ts'
import { isFields, nearMisses } from '../../../workflows/kit/index.ts'

/** Merges maps key by key at any depth; of other values the later one wins. The arguments stay unchanged. */
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

export interface ExportInput {
  /** Values by name, from all export executions. */
  readonly produced: Fields
  /** The Installation's `exportDataMappings`. */
  readonly mappings: Fields
  /** The names in the Installation's `spec.exports`. */
  readonly requested: readonly string[]
}

/**
 * The values that an Installation may publish: produced values that the blueprint defines, overridden by the results of the mappings, which are not
 * validated.
 *
 * @throws BlueprintError `SchemaValidationFailed` with every mismatch, `ExportNotProduced` with every requested name that is missing or null, or the
 * error of a mapping.
 */
export async function finishExports(
  engine: TemplateEngine,
  blueprint: Blueprint,
  { produced, mappings, requested }: ExportInput,
): Promise<Fields> {
  const exports = await definedExports(engine, blueprint, produced)
  const variables = Object.fromEntries([...Object.entries(exports), ['exports', exports]])
  const mapped = await renderMappings(engine, 'exportDataMappings', mappings, variables)
  const all = Object.fromEntries([...Object.entries(exports), ...Object.entries(mapped)])
  const missing = requested.filter((name) => !Object.hasOwn(all, name))
  const empty = requested.filter((name) => !missing.includes(name) && (all[name] ?? null) === null)
  if (missing.length + empty.length === 0) return all
  const problems = [
    ...missing.map((name) => `export ${JSON.stringify(name)}: ${missingExport(name, blueprint)}`),
    // The API server stores no DataObject without a value.
    ...empty.map((name) => `export ${JSON.stringify(name)}: the value is null; expected another value`),
  ]
  throw new BlueprintError('ExportNotProduced', joinProblems(problems))
}

function missingExport(name: string, { exports }: Blueprint): string {
  const names = exports.map((definition) => definition.name)
  if (names.includes(name))
    return 'no value; set it in an export execution of the blueprint, or in spec.exportDataMappings'
  const [typo] = nearMisses({ [name]: true }, names)
  const help =
    typo === undefined ? 'define it in blueprint.yaml or spec.exportDataMappings' : `did you mean "${typo.meant}"?`
  return `unknown export; ${help}`
}

async function definedExports(engine: TemplateEngine, blueprint: Blueprint, produced: Fields): Promise<Fields> {
  const defined = blueprint.exports.flatMap((definition) => {
    const { name } = definition
    return Object.hasOwn(produced, name) ? [{ ...definition, what: `export "${name}"`, value: produced[name] }] : []
  })
  const mismatches = defined.flatMap((found) =>
    found.type === 'data' || typeOf(found.value) === found.targetType
      ? []
      : [`${found.what}: found ${describe(found.value)}; expected a target of type "${found.targetType ?? ''}"`],
  )
  const checks = defined.flatMap(({ type, what, schema, value }) => (type === 'data' ? [{ what, schema, value }] : []))
  const problems = [...mismatches, ...(await findViolations(engine, blueprint, checks))]
  if (problems.length > 0) throw new BlueprintError('SchemaValidationFailed', joinProblems(problems))
  return Object.fromEntries(defined.map(({ name, value }) => [name, value]))
}

function typeOf(target: unknown): unknown {
  return isFields(target) ? own(target, 'type') : undefined
}

function describe(target: unknown): string {
  return typeof typeOf(target) === 'string' ? 'a target of another type' : typeName(target)
}

function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
