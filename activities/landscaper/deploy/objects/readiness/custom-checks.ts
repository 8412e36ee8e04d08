// Evaluates a user's requirements on objects of the target. Pure. Source: spec/landscaper.md 4.5.
//
//   C1. A path without values satisfies only `!`. If a path has several values, each of them has to satisfy the operator.
//   C2. The message of a failed requirement has the path and the operator, never a value, because objects may be Secrets.

import { isDeepStrictEqual } from 'node:util'

import type { KubeObject } from '../../../../kube/client.ts'
import { JsonPathError } from '../json-path.ts'
import type { Operator, Requirement } from './requirement.ts'

/** The first failed requirement, formatted; undefined when all requirements hold. */
export function unsatisfied(object: KubeObject, requirements: readonly Requirement[]): string | undefined {
  for (const requirement of requirements) {
    const problem = requirementProblem(object, requirement)
    if (problem !== undefined) return problem
  }
  return undefined
}

function requirementProblem(object: KubeObject, { path, pathText, operator, values }: Requirement): string | undefined {
  const found = follow(path, object)
  if (typeof found === 'string') return `${pathText} is ${found}`
  if (operator === '!') return found.length === 0 ? undefined : `${pathText} is there, expected that it is not`
  if (found.length === 0) return `${pathText} is not there`
  const isMet = found.every((value) => holds(operator, value, values))
  return isMet ? undefined : `${pathText} is not as required (operator ${operator})`
}

function follow(path: Requirement['path'], object: KubeObject): readonly unknown[] | string {
  try {
    return path.valuesIn(object)
  } catch (error) {
    if (error instanceof JsonPathError) return error.message
    throw error
  }
}

function holds(operator: Exclude<Operator, '!'>, value: unknown, wanted: readonly unknown[]): boolean {
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
