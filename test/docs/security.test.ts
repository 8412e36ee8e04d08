// docs/security.md promises nothing that no test holds it to: the tests that it names are there.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { isThere, namedFiles, namedTests } from './named-tests.ts'

describe('the tests that docs/security.md names', () => {
  it('are there', async () => {
    const page = await readFile(fileURLToPath(new URL('../../docs/security.md', import.meta.url)), 'utf8')
    const named = namedTests(page)
    const missing = await Promise.all(named.map(async (one) => ((await isThere(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(15)
    // Every test file that is mentioned is mentioned with a test.
    expect(page.match(/test\/[^`\s]+\.test\.ts/g)).toHaveLength(namedFiles(page))
  })
})
