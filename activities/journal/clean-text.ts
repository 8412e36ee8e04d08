// Replaces characters that PostgreSQL rejects in text and JSON. One annotation with such a character must not stop the
// journal of its kind.
//
//   C1. U+0000 becomes U+FFFD everywhere, and lone surrogates in JSON too. In plain text the encoding to UTF-8 replaces
//       lone surrogates.
//   C2. A value without such characters is returned unchanged.

import { readJson, writeJson } from '../../workflows/kit/index.ts'
import {
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type PrimitiveValueListNode,
  type QueryResult,
  type RootOperationNode,
  type UnknownRow,
  type ValueNode,
} from 'kysely'

const REPLACEMENT = '\uFFFD'
// An even number of backslashes must precede the escape, otherwise the escape itself is escaped text. JSON.stringify
// escapes only lone surrogates.
const ESCAPED = /(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/gi

/** Returns a plain or JSON text that PostgreSQL accepts. */
function cleanText(text: string): string {
  const plain = text.includes('\0') ? text.replaceAll('\0', REPLACEMENT) : text
  if (!plain.startsWith('{') && !plain.startsWith('[')) return plain
  return plain.includes('\\u') ? plain.replaceAll(ESCAPED, '$1\\ufffd') : plain
}

/** Returns the JSON value as PostgreSQL returns it later, so that stored and new values can be compared. */
export function cleanJson<T extends object>(value: T): T {
  const text = writeJson(value)
  const clean = cleanText(text)
  return clean === text ? value : (readJson(clean) as T)
}

/** Cleans every parameter of every query. */
export class CleanTextPlugin implements KyselyPlugin {
  readonly #transformer = new ParameterCleaner()

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(node, queryId)
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return await Promise.resolve(result)
  }
}

class ParameterCleaner extends OperationNodeTransformer {
  protected override transformValue(node: ValueNode): ValueNode {
    const value = cleanValue(node.value)
    return value === node.value ? node : { ...node, value }
  }

  protected override transformPrimitiveValueList(node: PrimitiveValueListNode): PrimitiveValueListNode {
    return { ...node, values: node.values.map(cleanValue) }
  }
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value)
  return Array.isArray(value) ? value.map(cleanValue) : value
}
