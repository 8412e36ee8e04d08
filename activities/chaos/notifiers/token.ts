// The token in the answer of a server that gives tokens.

import { parsedJson } from '../../../workflows/chaos/json-fields.ts'

/**
 * @param path of keys and indices, `data.tokens.0`; undefined: the answer is the token.
 * @returns undefined where there is none, or what no header may have.
 */
export function tokenAt(answer: string, path: string | undefined): string | undefined {
  const found = path === undefined ? answer.trim() : valueAt(parsedJson(answer), path.split('.'))
  return typeof found === 'string' && /^[\x21-\x7e]+$/.test(found) ? found : undefined
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<string, unknown>)[key]
        : undefined,
    value,
  )
}
