// Evaluates JSON paths on an object. The total size of the results is limited, however short the paths are, because results are copied between threads.

import { type JsonPath, JsonPathError } from '../deploy/objects/json-path.ts'
import { SizeBudget, type Size } from './cost-estimate.ts'

/**
 * Limits for the results of all paths of one call. They exceed the size of a Secret, so an export that is too large fails with a message about the
 * export.
 */
const RESULT_LIMIT = { nodes: 100_000, characters: 2 * 1024 * 1024 }
const RESULT_TOO_LARGE = { problem: 'one of those that find more than 2 MiB, or 100,000 values, together' }

/** The values that a path selects; `problem` says in words why they cannot be returned. */
export type PathResult = { readonly values: readonly unknown[] } | { readonly problem: string }

/** Evaluates all paths on the object. Returns undefined if the results exceed `most`, when `most` is lower than the limit of the data thread. */
export function evaluatePaths(
  object: unknown,
  paths: readonly JsonPath[],
  most: Size = RESULT_LIMIT,
): readonly PathResult[] | undefined {
  const left = new SizeBudget(most)
  const found = paths.map((path) => evaluatePath(path, object, left))
  return left.isExhausted && most.nodes < RESULT_LIMIT.nodes ? undefined : found
}

function evaluatePath(path: JsonPath, object: unknown, left: SizeBudget): PathResult {
  try {
    const values = left.isExhausted ? [] : path.valuesIn(object)
    return !left.isExhausted && left.spend(values) ? { values } : RESULT_TOO_LARGE
  } catch (error) {
    if (error instanceof JsonPathError) return { problem: error.message }
    throw error
  }
}
