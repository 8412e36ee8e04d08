// Finds misspelt words and keys for "did you mean" messages. Most wire formats ignore unknown keys; a misspelt list
// would read as empty, and its former contents would be removed.

const LONGEST_WORD = 80
const LONG_WORD = 8

/** The nearest known word that differs by one letter (two for long words) or by case; the first of equals. */
export function nearest(found: string, known: readonly string[]): string | undefined {
  if (found.length > LONGEST_WORD) return undefined
  const ranked = known
    .map((word) => ({ word, off: distance(found.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, off }) => off <= (word.length < LONG_WORD ? 1 : 2) && off < word.length)
    .sort((a, b) => a.off - b.off)
  return ranked[0]?.word
}

/** The unknown keys of a map with the nearest known key each. A known key that is present is not suggested. */
export function nearMisses(
  map: Readonly<Record<string, unknown>>,
  known: readonly string[],
): readonly { readonly found: string; readonly meant: string }[] {
  const missing = known.filter((key) => (map[key] ?? undefined) === undefined)
  return Object.keys(map)
    .filter((key) => !known.includes(key))
    .flatMap((found) => {
      const meant = nearest(found, missing)
      return meant === undefined ? [] : [{ found, meant }]
    })
}

/** Levenshtein distance, with a transposition as one step. */
function distance(left: string, right: string): number {
  let before: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const row = [i]
    for (let j = 1; j <= right.length; j++) {
      const isSame = left[i - 1] === right[j - 1]
      const isSwapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
      const step = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (isSame ? 0 : 1))
      row.push(isSwapped ? Math.min(step, at(before, j - 2) + 1) : step)
    }
    before = last
    last = row
  }
  return at(last, right.length)
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0
