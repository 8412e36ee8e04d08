// Estimates the cost of parsing a YAML text from its tokens. Parsing takes some microseconds per token.

import { Lexer } from 'yaml'

export interface YamlEffort {
  readonly maxTokens: number
  readonly maxOpenBrackets: number
  /** Each alias may double the size of the expanded document. */
  readonly maxAliases?: number
}

/** The first limit that the text exceeds; undefined if it exceeds no limit. */
export function excessOf(
  text: string,
  { maxTokens, maxOpenBrackets, maxAliases = Infinity }: YamlEffort,
): keyof YamlEffort | undefined {
  let [tokens, aliases, open] = [0, 0, 0]
  for (const token of new Lexer().lex(text)) {
    tokens++
    if (token.startsWith('*')) aliases++
    if (token === '[' || token === '{') open++
    if (token === ']' || token === '}') open--
    if (open > maxOpenBrackets) return 'maxOpenBrackets'
    if (tokens > maxTokens) return 'maxTokens'
    if (aliases > maxAliases) return 'maxAliases'
  }
  return undefined
}
