// Reads YAML or JSON of a Target or its Secret: one document, plain values, bounded. Errors quote nothing.

import { parseDocument } from 'yaml'

// A Secret holds at most 1 MiB.
const LONGEST_TEXT = 1024 * 1024
const MOST_ALIASES = 100

/** @returns the value, or in words what is wrong with the text. */
export function readYamlDocument(text: string): { readonly value: unknown } | { readonly problem: string } {
  if (text.length > LONGEST_TEXT) return { problem: `a text of ${text.length} characters` }
  try {
    const document = parseDocument(text, { prettyErrors: false, logLevel: 'error', stringKeys: true })
    const [first] = document.errors
    if (first !== undefined) return { problem: `a text that is not YAML (${first.code.toLowerCase().replaceAll('_', ' ')})` }
    return { value: document.toJS({ maxAliasCount: MOST_ALIASES }) as unknown }
  } catch {
    // Too many or unknown aliases, or nested deeper than the stack.
    return { problem: 'a text with too many aliases or levels' }
  }
}
