// Shortens lists for a status or a message: few entries, each of limited length.

import { shortenList } from '../kit/index.ts'

const MOST = 10
const MOST_CHARACTERS = 4000

/** At most 10 entries and 4,000 characters; one more entry has the number of the others. */
export function shortList(entries: readonly string[]): readonly string[] {
  const each = Math.floor(MOST_CHARACTERS / Math.max(Math.min(entries.length, MOST), 1))
  const shortened = entries.map((entry) => (entry.length <= each ? entry : `${entry.slice(0, each)}…`))
  return shortenList(shortened, MOST)
}
