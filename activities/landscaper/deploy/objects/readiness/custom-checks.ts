// One requirement of a user on objects of the target. Source: spec/landscaper.md 4.5.

import { type JsonPath, JsonPathError } from '../json-path.ts'
import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../../kube/client.ts'

export type Operator = 'exists' | '!' | '==' | '!=' | 'in' | 'notin'

export interface Requirement {
  readonly path: JsonPath
  /** The path as written by the user, for messages. */
  readonly pathText: string
  readonly operator: Operator
  readonly values: readonly unknown[]
}

// Evaluates a user's requirements on objects of the target. Pure. Source: spec/landscaper.md 4.5.
//
//   C1. A path without values satisfies only `!`. If a path has several values, each of them has to satisfy the operator.
//   C2. The message of a failed requirement has the path and the operator, never a value, because objects may be Secrets.

/** The first failed requirement, formatted; undefined when all requirements hold. */
export function unsatisfied(object: KubeObject, requirements: readonly Requirement[]): string | undefined {
  for (const requirement of requirements) {
    const problem = requirementProblem(object, requirement)
    if (problem !== undefined) return problem
  }
  return undefined
}

function requirementProblem(object: KubeObject, { path, pathText, operator, values }: Requirement): string | undefined {
  const found = valuesAt(path, object)
  if (typeof found === 'string') return `${pathText} is ${found}`
  if (operator === '!') return found.length === 0 ? undefined : `${pathText} has a value; expected none`
  if (found.length === 0) return `${pathText} has no value`
  const isMet = found.every((value) => satisfies(operator, value, values))
  return isMet ? undefined : `${pathText} does not satisfy operator "${operator}"`
}

function valuesAt(path: Requirement['path'], object: KubeObject): readonly unknown[] | string {
  try {
    return path.valuesIn(object)
  } catch (error) {
    if (error instanceof JsonPathError) return error.message
    throw error
  }
}

function satisfies(operator: Exclude<Operator, '!'>, value: unknown, wanted: readonly unknown[]): boolean {
  switch (operator) {
    case 'exists':
      return true
    case '==':
    case 'in':
      return wanted.some((one) => isDeepStrictEqual(one, value))
    case '!=':
    case 'notin':
      return !wanted.some((one) => isDeepStrictEqual(one, value))
  }
}
