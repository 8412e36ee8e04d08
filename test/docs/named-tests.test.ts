// docs/concepts/faults.md and docs/concepts/security.md name the tests of their promises in the form
// `path of the file`: "name of a test", "name of another test".

import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const NAMED = /`(test\/[^`]+\.test\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g
const pageOf = async (name: string) => await readFile(new URL(`docs/concepts/${name}.md`, ROOT), 'utf8')
const [faults, security] = [await pageOf('faults'), await pageOf('security')]
const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)

interface NamedTest {
  readonly file: string
  readonly name: string
}

const groupsOf = (page: string) => [...page.replaceAll(/\s+/g, ' ').matchAll(NAMED)]

function namedTests(page: string): readonly NamedTest[] {
  return groupsOf(page).flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ file, name })),
  )
}

/** Whether the file contains the name as a whole string: as the title of a test, or in a table of tests. */
async function exists({ file, name }: NamedTest): Promise<boolean> {
  const text = await readFile(new URL(file, ROOT), 'utf8').catch(() => '')
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted))
}

/** The list items and table rows of a page, without table headers. */
function entriesOf(page: string): readonly string[] {
  const text = page.replaceAll(/^```[^]*?^```$/gm, '')
  const bullets = text.match(/^- .*(?:\n {2,}\S.*)*/gm) ?? []
  const tables = text.match(/(?:^\|.*\n?)+/gm) ?? []
  return [...bullets, ...tables.flatMap((table) => table.trim().split('\n').slice(2))]
}

/** The entries that neither name a test nor give a reason for the missing test. */
function unproven(page: string): readonly string[] {
  return entriesOf(page).filter((entry) => groupsOf(entry).length === 0 && !/\(untested: [^)]{10,}\)/.test(entry))
}

describe('the tests that a page names', () => {
  it.each([
    ['docs/concepts/faults.md', faults],
    ['docs/concepts/security.md', security],
  ])('exist: %s', async (_, page) => {
    const named = namedTests(page)
    const missing = await Promise.all(named.map(async (one) => ((await exists(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(25)
  })
})

describe('docs/concepts/faults.md', () => {
  it.each([...numbered('S', 10), ...numbered('T', 14)])(
    'has a row for %s, whose tests have it in their titles',
    (id) => {
      const [row, ...more] = faults.split('\n').filter((line) => line.startsWith(`| ${id} |`))
      expect(more).toEqual([])
      const tests = namedTests(row ?? '').map(({ name }) => name)
      expect(tests.filter((name) => !new RegExp(`^[^:]*\\b${id}\\b[^:]*:`).test(name))).toEqual([])
      // A row without a test must give the reason.
      if (tests.length === 0) expect(row).toMatch(/no test|see the note|the same tests/)
    },
  )
})

describe('each entry of docs/concepts/security.md', () => {
  it('names a test or says why it has none, and names no test file without a test', () => {
    expect(entriesOf(security).length).toBeGreaterThan(50)
    expect(unproven(security)).toEqual([])
    expect(security.match(/test\/[^`\s]+\.test\.ts/g)).toHaveLength(groupsOf(security).length)
  })

  it('counts as unproven when it has neither a test nor a reason of at least 10 characters', () => {
    const proven = '- is kept\n  (`test/a.test.ts`: "is kept").'
    const marked = '| a | b (untested: it is up to you) |'
    const promised = ['- is kept, too\n  for ever.', '| c | d |', '- is kept (untested: no).']
    const listed = [proven, promised[0], '', '| head | of it |', '|---|---|', marked, promised[1], '', promised[2]]
    expect(unproven(listed.join('\n'))).toEqual([promised[0], promised[2], promised[1]])
  })
})
