// Tests that each entry of docs/security.md names an existing test or says why it has none.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { entriesOf, isThere, namedFiles, namedTests, unproven } from './named-tests.ts'

const page = await readFile(fileURLToPath(new URL('../../docs/security.md', import.meta.url)), 'utf8')

describe('the tests that docs/security.md names', () => {
  it('exist', async () => {
    const named = namedTests(page)
    const missing = await Promise.all(named.map(async (one) => ((await isThere(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(15)
    // Every test file that is mentioned is mentioned with a test.
    expect(page.match(/test\/[^`\s]+\.test\.ts/g)).toHaveLength(namedFiles(page))
  })
})

describe('each entry of docs/security.md', () => {
  it('names a test or says why it has none', () => {
    expect(entriesOf(page).length).toBeGreaterThan(50)
    expect(unproven(page)).toEqual([])
  })

  it('counts as unproven when it has neither a test nor a reason of at least 10 characters', () => {
    const proven = '- is kept\n  (`test/a.test.ts`: "is kept").'
    const marked = '| a | b (untested: it is up to you) |'
    const promised = ['- is kept, too\n  for ever.', '| c | d |', '- is kept (untested: no).']
    const listed = [proven, promised[0], '', '| head | of it |', '|---|---|', marked, promised[1], '', promised[2]]
    expect(unproven(listed.join('\n'))).toEqual([promised[0], promised[2], promised[1]])
  })
})
