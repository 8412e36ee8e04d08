// How a diagnostic says what was probably meant, and what may stand there.

import { nearest } from '../kind/near-words.ts'

/** `; did you mean 'x'?`, or nothing when no known word is near. */
export function didYouMean(found: string, known: readonly string[]): string {
  const meant = nearest(found, known)
  return meant === undefined ? '' : `; did you mean '${meant}'?`
}

/** `a, b or c` for "expected one of". */
export function alternatives(words: readonly string[]): string {
  const [last, ...others] = [...words].reverse()
  if (last === undefined) return 'nothing'
  return others.length === 0 ? last : `${others.reverse().join(', ')} or ${last}`
}
