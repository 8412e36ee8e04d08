// Parses YAML or JSON of a Target or its Secret: one document, plain values, no duplicate keys, limited. Errors quote nothing.

import { parseYaml, YamlError, type YamlLimits, YamlSyntaxError } from '../../../yaml/read-yaml.ts'
import { hasFurtherDocuments } from '../../../yaml/further-documents.ts'

// A Secret holds at most 1 MiB; a kubeconfig with a thousand clusters has some tens of thousands of tokens.
const LONGEST_TEXT = 1024 * 1024
const LIMITS: YamlLimits = {
  maxCharacters: LONGEST_TEXT,
  maxTokens: 50_000,
  maxOpenBrackets: 100,
  expanded: { nodes: 50_000, characters: 2 * LONGEST_TEXT },
}

/** @returns the value, or the defect of the text for a message. */
export function readYamlDocument(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    const value = parseYaml(text, { limits: LIMITS, strict: true }).value
    return hasFurtherDocuments(text) ? { problem: 'several YAML documents' } : { value }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    const what = error instanceof YamlSyntaxError ? 'is not YAML' : 'cannot be read'
    return { problem: `a text that ${what} (${error.reason})` }
  }
}
