// Shortens lists for a status or a message: few entries, each of limited length.

const MOST = 10
const MOST_CHARACTERS = 4000

/** At most 10 entries and 4,000 characters; one more entry has the number of the others. */
export function shortList(entries: readonly string[]): readonly string[] {
  const shown = entries.slice(0, MOST)
  const each = Math.floor(MOST_CHARACTERS / Math.max(shown.length, 1))
  const more = entries.length - shown.length
  return [
    ...shown.map((entry) => (entry.length <= each ? entry : `${entry.slice(0, each)}…`)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]
}
