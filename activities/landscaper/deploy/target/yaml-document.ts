// Reads YAML or JSON of a Target or its Secret: one document, plain values, bounded. Errors quote nothing.

import { type Document, isScalar, parseDocument, visit } from 'yaml'

import { excessOf } from '../../bounded/yaml-effort.ts'

// A Secret holds at most 1 MiB.
const LONGEST_TEXT = 1024 * 1024
const MOST_ALIASES = 100
// A kubeconfig with a thousand clusters has some tens of thousands of tokens.
const LIMITS = { maxTokens: 50_000, maxOpenBrackets: 100, maxLooks: 1_000_000 }
const TOO_MUCH = { problem: 'a text with too many entries' }
const TOO_DEEP = { problem: 'a text with too many aliases or levels' }

/** @returns the value, or in words what is wrong with the text. */
export function readYamlDocument(text: string): { readonly value: unknown } | { readonly problem: string } {
  if (text.length > LONGEST_TEXT) return { problem: `a text of ${text.length} characters` }
  const excess = excessOf(text, LIMITS)
  if (excess !== undefined) return excess === 'maxTokens' ? TOO_MUCH : TOO_DEEP
  try {
    // Its own look for repeated keys compares each with all others.
    const document = parseDocument(text, {
      prettyErrors: false,
      logLevel: 'error',
      stringKeys: true,
      uniqueKeys: false,
    })
    const [first] = document.errors
    const code = first === undefined ? repeatedKey(document) : first.code
    if (code !== undefined) return { problem: `a text that is not YAML (${code.toLowerCase().replaceAll('_', ' ')})` }
    return { value: document.toJS({ maxAliasCount: MOST_ALIASES }) as unknown }
  } catch {
    // Too many or unknown aliases, or nested deeper than the stack.
    return TOO_DEEP
  }
}

function repeatedKey(document: Document.Parsed): 'DUPLICATE_KEY' | undefined {
  let found: 'DUPLICATE_KEY' | undefined
  visit(document, {
    Map(_, { items }) {
      const keys = new Set(items.map(({ key }) => (isScalar(key) ? key.value : key)))
      if (keys.size === items.length) return undefined
      found = 'DUPLICATE_KEY'
      return visit.BREAK
    },
  })
  return found
}
