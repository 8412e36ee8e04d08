// What is asked of the data thread, and what it answers. Everything in it is data.

import type { BlueprintErrorCode } from '../render/blueprint-error.ts'
import type { KubeObject } from '../../kube/client.ts'
import type { Operator } from '../deploy/objects/readiness/requirement.ts'

/** As JSON text, one per message. */
export type DataQuestion =
  /** The value of a text of a blueprint, an import or a rendering. */
  | { readonly ask: 'yaml'; readonly text: string }
  /** The value of a text of a Target. */
  | { readonly ask: 'document'; readonly text: string }
  /** What a blueprint.yaml says; `json`: as which Go reads it. */
  | { readonly ask: 'definition'; readonly text: string; readonly json?: string }
  /** The items of an Execution, packed. */
  | { readonly ask: 'items'; readonly packed: string }
  /** The files in a tar archive, in base64. */
  | { readonly ask: 'archive'; readonly packed: string }
  /** What rules of admission say of the items of an Execution, packed. */
  | { readonly ask: 'packedProblems'; readonly packed: string }
  /** The same of the blueprint of an Installation. */
  | { readonly ask: 'blueprintProblems'; readonly blueprint: unknown }
  /** For each path all values that it finds. */
  | { readonly ask: 'values'; readonly object: unknown; readonly paths: readonly string[] }
  /** What an object lacks. */
  | { readonly ask: 'unsatisfied'; readonly object: KubeObject; readonly requirements: readonly AskedRequirement[] }

export interface AskedRequirement {
  readonly pathText: string
  readonly operator: Operator
  readonly values: readonly unknown[]
}

export type DataReply = { readonly answer: unknown } | { readonly fault: DataFault }

/** The author's mistakes; each is thrown again as the error that it was. */
export type DataFault =
  | YamlFault
  | {
      readonly of: 'definition'
      readonly code: BlueprintErrorCode
      readonly message: string
      /** Absent: the text is YAML. */
      readonly cause?: YamlFault
    }

export interface YamlFault {
  readonly of: 'yaml'
  readonly line: number
  readonly column: number
  readonly reason: string
  readonly message: string
  /** A YamlSyntaxError. */
  readonly ofSyntax: boolean
}
