// Tests that docs/faults.md has a row for each fault pattern, and names only tests that exist.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isThere, namedTests } from './named-tests.ts'

const page = await readFile(fileURLToPath(new URL('../../docs/faults.md', import.meta.url)), 'utf8')
const IDS = [...numbered('S', 10), ...numbered('T', 14)]

describe('docs/faults.md', () => {
  it('names tests that are there', async () => {
    const named = namedTests(page)
    const missing = await Promise.all(named.map(async (one) => ((await isThere(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(25)
  })

  it.each(IDS)('has a row for %s, whose tests say that they are of it', (id) => {
    const [row, ...more] = page.split('\n').filter((line) => line.startsWith(`| ${id} |`))
    expect(more).toEqual([])
    const tests = namedTests(row ?? '').map(({ name }) => name)
    expect(tests.filter((name) => !new RegExp(`^[^:]*\\b${id}\\b[^:]*:`).test(name))).toEqual([])
    // A row without a test must give the reason.
    if (tests.length === 0) expect(row).toMatch(/no test|see the note|the same tests/)
  })
})

function numbered(letter: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)
}
