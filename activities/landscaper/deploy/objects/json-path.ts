// JSON paths in kubectl's syntax, without the braces: `status.phase`, `.data.tls\.crt`, `.items[?(@.name=="a")].x`.
// They are translated into queries of RFC 9535. Source: spec/landscaper.md 4.5.
//
//   P1. An evaluation costs at most some visits per node of the object: at most one `..`, no functions (hence no regular expressions), only plain
//       paths in filters, few unions.

import { JSONPathEnvironment, type JSONPathQuery, type JSONValue } from 'json-p3'

import { CostlyPathError, toQueryText } from './json-path-text.ts'

export interface JsonPath {
  /** The path as written by the user. */
  readonly text: string
  /** The estimated cost of an evaluation (bounded/cost-estimate.ts): `perLook` for any object, `perNode` for each of its nodes. */
  readonly cost: { readonly perLook: number; readonly perNode: number }
  /** All values of the path, in order; none if a step is missing. @throws JsonPathError for an object that is nested too deeply */
  valuesIn(object: unknown): readonly unknown[]
}

/** An invalid path; the message has the reason and quotes nothing. */
export class JsonPathError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'JsonPathError'
  }
}

const LONGEST_PATH = 1000
const DEEPEST_OBJECT = 200
const MOST_VALUES = 10_000
/** Names and indexes only: one node each, for any object. */
const PLAIN = /^\$(?:\[(?:"(?:[^"\\]|\\.)*"|-?\d+)\])*$/
/** The cost of visiting a node, in addition to the cost of each character of the path. */
const PER_VISIT = 10

const environment = new JSONPathEnvironment({ maxRecursionDepth: DEEPEST_OBJECT })
environment.functionRegister.clear()

/** @throws JsonPathError */
export function compileJsonPath(path: string): JsonPath {
  if (path.length > LONGEST_PATH) {
    throw new JsonPathError(`a path of ${path.length} characters; expected at most ${LONGEST_PATH}`)
  }
  const { query, cost } = compile(path)
  return { text: path, cost, valuesIn: (object) => valuesIn(query, object) }
}

function compile(path: string): { query: JSONPathQuery; cost: JsonPath['cost'] } {
  try {
    const text = toQueryText(path)
    return { query: environment.compile(text), cost: costOf(text) }
  } catch (error) {
    if (error instanceof CostlyPathError) throw new JsonPathError(error.message)
    // Not the library's message, because it quotes the path. The user sees the path in the named field of the manifest.
    throw new JsonPathError('not a JSON path; expected one such as .status.phase or .items[?(@.name=="a")].value')
  }
}

function costOf(queryText: string): JsonPath['cost'] {
  const perLook = PER_VISIT + queryText.length
  if (PLAIN.test(queryText)) return { perLook, perNode: 0 }
  // A filter may compare the whole object with each of its nodes.
  return { perLook, perNode: queryText.includes('$', 1) ? Infinity : perLook }
}

function valuesIn(query: JSONPathQuery, object: unknown): readonly unknown[] {
  const values: unknown[] = []
  try {
    for (const { value } of query.lazyQuery(object as JSONValue)) {
      if (values.push(value) > MOST_VALUES) throw new JsonPathError(`a path that finds more than ${MOST_VALUES} values`)
    }
  } catch (error) {
    if (error instanceof JsonPathError) throw error
    throw new JsonPathError('a path that cannot be followed in this object: it is nested too deeply')
  }
  return values
}
