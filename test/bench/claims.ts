// What a scenario claims, with what was found. A claim that is not kept fails the bench.

import { markdownTable } from './markdown.ts'

export interface Claim {
  /** E.g. `all 100 Succeeded`. */
  readonly sentence: string
  readonly found: string
  readonly isKept: boolean
}

export function brokenClaims(claims: readonly Claim[]): readonly string[] {
  return claims.filter(({ isKept }) => !isKept).map(({ sentence, found }) => `claim: ${sentence}: found ${found}`)
}

export function claimsTable(claims: readonly Claim[]): string {
  return markdownTable(
    ['claim', 'found', 'kept'],
    claims.map(({ sentence, found, isKept }) => [sentence, found, isKept ? 'yes' : 'NO']),
  )
}
