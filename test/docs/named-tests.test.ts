// docs/concepts/faults.md and docs/concepts/security.md number their promises. test/docs/promises.md names the tests of
// each number in the form `path of the file`: "name of a test", "name of another test".

import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'

import { section } from './markdown.ts'

const ROOT = new URL('../../', import.meta.url)
const NAMED = /`(test\/[^`]+\.test\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g
const read = async (path: string) => await readFile(new URL(path, ROOT), 'utf8')
const promises = await read('test/docs/promises.md')
const faults = await read('docs/concepts/faults.md')
const security = await read('docs/concepts/security.md')
const numbered = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)

interface NamedTest {
  readonly file: string
  readonly name: string
}

function namedTests(text: string): readonly NamedTest[] {
  return [...text.matchAll(NAMED)].flatMap(([, file = '', names = '']) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ file, name })),
  )
}

/** Whether the file contains the name as a whole string: as the title of a test, or in a table of tests. */
async function exists({ file, name }: NamedTest): Promise<boolean> {
  const text = await read(file).catch(() => '')
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted))
}

/** The rows of a section of test/docs/promises.md: the cell with the tests, by its number. */
function promisesOf(heading: string): ReadonlyMap<string, string> {
  const rows = [...section(promises, heading).matchAll(/^\| ([A-Z]\d+) \| (.*) \|$/gm)]
  expect(new Set(rows.map(([, id]) => id)).size).toBe(rows.length)
  return new Map(rows.map(([, id = '', tests = '']) => [id, tests]))
}

/** The list items and table rows of a page, without table headers. */
function entriesOf(page: string): readonly string[] {
  const text = page.replaceAll(/^```[^]*?^```$/gm, '')
  const bullets = text.match(/^- .*(?:\n {2,}\S.*)*/gm) ?? []
  const tables = text.match(/(?:^\|.*\n?)+/gm) ?? []
  return [...bullets, ...tables.flatMap((table) => table.trim().split('\n').slice(2))]
}

/** The entries that neither have the number of a promise nor give a reason for the missing test. */
function unproven(page: string): readonly string[] {
  return entriesOf(page).filter((entry) => !/\bP\d+\b/.test(entry) && !/\(untested: [^)]{10,}\)/.test(entry))
}

describe('test/docs/promises.md', () => {
  it('names tests that exist', async () => {
    const named = namedTests(promises)
    const missing = await Promise.all(named.map(async (one) => ((await exists(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(50)
  })

  it('has a test in each row', () => {
    const rows = [...promisesOf('## Faults'), ...promisesOf('## Security')]
    expect(rows.filter(([, tests]) => namedTests(tests).length === 0)).toEqual([])
  })
})

describe('docs/concepts/faults.md', () => {
  const tests = promisesOf('## Faults')
  const ids = [...faults.matchAll(/^\| ([A-Z]\d+) \|/gm)].map(([, id = '']) => id)
  // S10 has the tests of all others, and T11 takes a day.
  const withoutTests = ['S10', 'T11']

  it('has the numbers of test/docs/promises.md', () => {
    expect([...tests.keys(), ...withoutTests].sort()).toEqual([...ids].sort())
  })

  it.each([...numbered('S', 10), ...numbered('T', 14)])(
    'has a row for %s, whose tests have it in their titles',
    (id) => {
      expect(ids.filter((one) => one === id)).toEqual([id])
      const names = namedTests(tests.get(id) ?? '').map(({ name }) => name)
      expect(names.filter((name) => !new RegExp(`^[^:]*\\b${id}\\b[^:]*:`).test(name))).toEqual([])
    },
  )
})

describe('docs/concepts/security.md', () => {
  it('has the numbers of test/docs/promises.md', () => {
    const ids = new Set(security.replace(/^.*such as P1.*$/m, '').match(/\bP\d+\b/g))
    expect([...ids].sort()).toEqual([...promisesOf('## Security').keys()].sort())
  })

  it('has a number or a reason in each entry', () => {
    expect(entriesOf(security).length).toBeGreaterThan(50)
    expect(unproven(security)).toEqual([])
  })

  it('counts an entry as unproven when it has neither a number nor a reason of at least 10 characters', () => {
    const proven = '- is kept\n  (P1).'
    const marked = '| a | b (untested: it is up to you) |'
    const promised = ['- is kept, too\n  for ever.', '| c | d |', '- is kept (untested: no).']
    const listed = [proven, promised[0], '', '| head | of it |', '|---|---|', marked, promised[1], '', promised[2]]
    expect(unproven(listed.join('\n'))).toEqual([promised[0], promised[2], promised[1]])
  })
})
