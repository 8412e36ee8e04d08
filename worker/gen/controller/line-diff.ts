// The difference of two texts line by line, in the form that `diff -u` has.

const CONTEXT = 3
// Beyond this the table of the longest common part would take too much memory.
const MOST_CELLS = 4_000_000

interface Edit {
  readonly sign: ' ' | '-' | '+'
  readonly line: string
}

/** What has to be done to `found` so that it becomes `expected`; nothing when they are equal. */
export function lineDiff(found: string, expected: string): readonly string[] {
  const edits = editsOf(found.split('\n'), expected.split('\n'))
  const changed = edits.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]))
  const lines: string[] = []
  let [from, to] = [0, 0]
  for (const [position, index] of changed.entries()) {
    // Pieces that would touch are one.
    if (position > 0 && index - CONTEXT <= to) to = Math.min(edits.length, index + CONTEXT + 1)
    else {
      if (position > 0) lines.push(...hunk(edits, from, to))
      from = Math.max(0, index - CONTEXT)
      to = Math.min(edits.length, index + CONTEXT + 1)
    }
  }
  return changed.length === 0 ? [] : [...lines, ...hunk(edits, from, to)]
}

function hunk(edits: readonly Edit[], from: number, to: number): string[] {
  const count = (sign: '-' | '+', until: Edit[]) => until.filter((edit) => edit.sign !== sign).length
  const [before, inside] = [edits.slice(0, from), edits.slice(from, to)]
  const old = `${count('+', before) + 1},${count('+', inside)}`
  const fresh = `${count('-', before) + 1},${count('-', inside)}`
  return [`@@ -${old} +${fresh} @@`, ...inside.map(({ sign, line }) => sign + line)]
}

function editsOf(found: readonly string[], expected: readonly string[]): readonly Edit[] {
  let start = 0
  while (start < found.length && start < expected.length && found[start] === expected[start]) start++
  let end = 0
  const most = Math.min(found.length, expected.length) - start
  while (end < most && found[found.length - 1 - end] === expected[expected.length - 1 - end]) end++
  const same = (line: string): Edit => ({ sign: ' ', line })
  return [
    ...found.slice(0, start).map(same),
    ...middleOf(found.slice(start, found.length - end), expected.slice(start, expected.length - end)),
    ...found.slice(found.length - end).map(same),
  ]
}

// By the longest common part of what differs.
function middleOf(found: readonly string[], expected: readonly string[]): readonly Edit[] {
  const table = commonLengths(found, expected)
  if (table === undefined) return [...found.map(removed), ...expected.map(added)]
  const edits: Edit[] = []
  let [row, column] = [0, 0]
  while (row < found.length && column < expected.length) {
    const [old = '', fresh = ''] = [found[row], expected[column]]
    if (old === fresh) {
      edits.push({ sign: ' ', line: old })
      row++
      column++
    } else if (table(row + 1, column) >= table(row, column + 1)) {
      edits.push(removed(old))
      row++
    } else {
      edits.push(added(fresh))
      column++
    }
  }
  return [...edits, ...found.slice(row).map(removed), ...expected.slice(column).map(added)]
}

/** The length of the longest common part of what follows two lines; undefined when the table would be too large. */
function commonLengths(
  found: readonly string[],
  expected: readonly string[],
): ((row: number, column: number) => number) | undefined {
  const width = expected.length + 1
  if (found.length * width > MOST_CELLS) return undefined
  const lengths = new Uint32Array((found.length + 1) * width)
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  for (let row = found.length - 1; row >= 0; row--) {
    for (let column = expected.length - 1; column >= 0; column--) {
      const isSame = found[row] === expected[column]
      const length = isSame ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
      lengths[row * width + column] = length
    }
  }
  return at
}

function removed(line: string): Edit {
  return { sign: '-', line }
}

function added(line: string): Edit {
  return { sign: '+', line }
}
