// Keys that are almost, but not quite, known ones. Unknown keys mean nothing in the wire formats (spec/landscaper.md 3.2); yet a list whose
// name is one letter off would be read as empty, and what it held be uninstalled.

const LONGEST_KEY = 60
const LONG_KEY = 8

/**
 * The unknown keys of a map that are probably misspelt: each with the known key that it is one letter off, two for long ones, or differs from
 * in case only. A known key that is there itself is not meant.
 */
export function nearMisses(
  map: Readonly<Record<string, unknown>>,
  known: readonly string[],
): readonly { readonly found: string; readonly meant: string }[] {
  const missing = known.filter((key) => (map[key] ?? undefined) === undefined)
  return Object.keys(map)
    .filter((key) => !known.includes(key) && key.length <= LONGEST_KEY)
    .flatMap((found) => {
      const meant = missing.find((key) => distance(found.toLowerCase(), key.toLowerCase()) <= tolerance(key))
      return meant === undefined ? [] : [{ found, meant }]
    })
}

const tolerance = (key: string): number => (key.length < LONG_KEY ? 1 : 2)

/** Levenshtein's distance, with two letters in each other's place as one step. */
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
