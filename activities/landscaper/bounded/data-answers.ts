// The work on tenants' data that is done on the loop when it is cheap, and else in the data thread. Pure.
//
//   A1. What comes out is bounded, however little text it was made of: it has to come back to where it was asked for.

import { readDefinition } from '../render/blueprint-definition.ts'
import { readYaml } from '../../yaml/read-yaml.ts'
import { unsatisfied } from '../deploy/objects/readiness/custom-checks.ts'
import type { Requirement } from '../deploy/objects/readiness/requirement.ts'
import { type JsonPath, JsonPathError } from '../deploy/objects/json-path.ts'
import { readYamlDocument } from '../deploy/target/yaml-document.ts'
import { Allowance, type Size } from './size.ts'

/** Of all paths of a look together. More than a Secret holds, so that whoever exports too much is told of that as his mistake. */
const MOST_FOUND = { nodes: 100_000, characters: 2 * 1024 * 1024 }
const TOO_MUCH_FOUND = { problem: 'one of those that find more than 2 MiB, or 100,000 values, together' }

/** What a path has found; `problem` says in words why that cannot be told. */
export type FoundValues = { readonly values: readonly unknown[] } | { readonly problem: string }

export type DocumentValue = ReturnType<typeof readYamlDocument>

/** @throws YamlError */
export function yamlValue(text: string): unknown {
  return readYaml(text)
}

export { readDefinition as definitionOf, readYamlDocument as documentValue, unsatisfied as lackOf }

/** For each path what it finds, in one look at the object; undefined: together it is more than `most`, where that is less than it may be. */
export function foundValues(
  object: unknown,
  paths: readonly JsonPath[],
  most: Size = MOST_FOUND,
): readonly FoundValues[] | undefined {
  const left = new Allowance(most)
  const found = paths.map((path) => foundBy(path, object, left))
  return left.isSpent && most.nodes < MOST_FOUND.nodes ? undefined : found
}

function foundBy(path: JsonPath, object: unknown, left: Allowance): FoundValues {
  try {
    const values = left.isSpent ? [] : path.valuesIn(object)
    return !left.isSpent && left.spend(values) ? { values } : TOO_MUCH_FOUND
  } catch (error) {
    if (error instanceof JsonPathError) return { problem: error.message }
    throw error
  }
}

export type { Requirement }
