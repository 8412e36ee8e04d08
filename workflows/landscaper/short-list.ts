// Lists for people, e.g. in a status: of hundreds of entries only the first, each cut short.

const MOST = 10
const MOST_CHARACTERS = 4000

/** At most 10 entries and 4,000 characters; what is left out is counted in one entry more. */
export function shortList(entries: readonly string[]): readonly string[] {
  const shown = entries.slice(0, MOST)
  const each = Math.floor(MOST_CHARACTERS / Math.max(shown.length, 1))
  const more = entries.length - shown.length
  return [
    ...shown.map((entry) => (entry.length <= each ? entry : `${entry.slice(0, each)}…`)),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]
}
