import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { lineDiff } from '../../../worker/gen/controller/line-diff.ts'

const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).map((lines) => lines.join('\n'))

describe('the difference of two texts', () => {
  it('turns one into the other', () => {
    fc.assert(
      fc.property(text, text, (found, expected) => {
        expect(applied(found, lineDiff(found, expected))).toBe(expected)
      }),
    )
  })

  it('is nothing for equal texts, and only what differs for others', () => {
    fc.assert(
      fc.property(text, (same) => {
        expect(lineDiff(same, same)).toEqual([])
      }),
    )
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`)
    const changed = lines.with(5, 'new').toSpliced(20, 1)
    expect(lineDiff(lines.join('\n'), changed.join('\n'))).toEqual([
      '@@ -3,7 +3,7 @@',
      ' line 2',
      ' line 3',
      ' line 4',
      '-line 5',
      '+new',
      ' line 6',
      ' line 7',
      ' line 8',
      '@@ -18,7 +18,6 @@',
      ' line 17',
      ' line 18',
      ' line 19',
      '-line 20',
      ' line 21',
      ' line 22',
      ' line 23',
    ])
  })

  it('has one piece for changes that are near each other', () => {
    const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`)
    const pieces = lineDiff(lines.join('\n'), lines.with(2, 'x').with(7, 'y').join('\n'))
    expect(pieces.filter((line) => line.startsWith('@@'))).toEqual(['@@ -1,11 +1,11 @@'])
  })

  it('is whole for texts that are too long to compare', () => {
    const [old, fresh] = ['a', 'b'].map((letter) => Array.from({ length: 3000 }, (_, index) => letter + String(index)))
    const signs = lineDiff((old ?? []).join('\n'), (fresh ?? []).join('\n')).map((line) => line.charAt(0))
    expect(signs.filter((sign) => sign === '-')).toHaveLength(3000)
    expect(signs.filter((sign) => sign === '+')).toHaveLength(3000)
  })
})

// What `patch` does, without looking for a place.
function applied(found: string, diff: readonly string[]): string {
  const lines = found.split('\n')
  const result: string[] = []
  let next = 0
  for (const line of diff) {
    const start = /^@@ -(\d+),/.exec(line)?.[1]
    if (start !== undefined) {
      result.push(...lines.slice(next, Number(start) - 1))
      next = Number(start) - 1
      continue
    }
    if (line.startsWith('+')) result.push(line.slice(1))
    else {
      expect(lines[next]).toBe(line.slice(1))
      if (line.startsWith(' ')) result.push(lines[next] ?? '')
      next++
    }
  }
  return [...result, ...lines.slice(next)].join('\n')
}
