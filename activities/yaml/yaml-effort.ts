// Estimates the cost of a YAML text from its tokens before it is parsed. Parsing takes some microseconds per token.

import { Lexer } from 'yaml'

export interface YamlEffort {
  readonly maxTokens: number
  readonly maxOpenBrackets: number
  /** Each may double what the text is expanded to. */
  readonly maxAliases?: number
}

/** Which of the limits a text exceeds, if any. It stops at the first that is exceeded. */
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
