// One requirement of a user on objects of the target. Source: spec/landscaper.md 4.5.

import type { JsonPath } from '../json-path.ts'

export type Operator = 'exists' | '!' | '==' | '!=' | 'in' | 'notin'

export interface Requirement {
  readonly path: JsonPath
  /** The path as written by the user, for messages. */
  readonly pathText: string
  readonly operator: Operator
  readonly values: readonly unknown[]
}
