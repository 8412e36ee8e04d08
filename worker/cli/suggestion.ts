// Suggestions in messages: the next command, and the known name that the user probably meant.

import { joinNames, nearest } from '../../workflows/kit/index.ts'
import { readConfig } from '../server/config.ts'

/** The command as the user can enter it: `npx pawl why inst/shop` if npx started this process. */
export function suggestedCommand(args: string): string {
  return `${readConfig().isStartedByNpx ? 'npx ' : ''}pawl ${args}`
}

const SHORTEST_PREFIX = 2

/** The known name that is nearest to the text, else the only one that begins with it. */
export function similarName(text: string, known: readonly string[]): string | undefined {
  const near = nearest(text, known)
  if (near !== undefined || text.length < SHORTEST_PREFIX) return near
  const [first, ...others] = known.filter((name) => name.toLowerCase().startsWith(text.toLowerCase()))
  return others.length === 0 ? first : undefined
}

const MAX_NAMES = 8

/** The hint for an unknown name: `did you mean "X"?`, else the known names, at most 8 of them. */
export function expectedName(text: string, known: readonly string[]): string {
  const similar = similarName(text, known)
  if (similar !== undefined) return `did you mean "${similar}"?`
  return known.length === 0 ? 'none exists' : `expected ${joinNames(known, MAX_NAMES)}`
}
