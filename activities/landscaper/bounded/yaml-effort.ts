// What reading a YAML text would cost, known from its tokens before it is parsed. Parsing takes some
// microseconds a token, and each alias a look through the whole document.

import { Lexer } from 'yaml'

export interface YamlLimits {
  readonly maxTokens: number
  readonly maxOpenBrackets: number
  /** Tokens times aliases. */
  readonly maxLooks: number
}

/** Which of the limits a text exceeds, if any. It stops at the first that is exceeded. */
export function excessOf(
  text: string,
  { maxTokens, maxOpenBrackets, maxLooks }: YamlLimits,
): keyof YamlLimits | undefined {
  let [tokens, aliases, open] = [0, 0, 0]
  for (const token of new Lexer().lex(text)) {
    tokens++
    if (token.startsWith('*')) aliases++
    if (token === '[' || token === '{') open++
    if (token === ']' || token === '}') open--
    if (open > maxOpenBrackets) return 'maxOpenBrackets'
    if (tokens > maxTokens) return 'maxTokens'
  }
  return tokens * aliases > maxLooks ? 'maxLooks' : undefined
}
