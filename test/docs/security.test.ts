// docs/security.md promises nothing that no test holds it to: the tests that it names are there.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
/** A file, and the names of tests in it. */
const NAMED = /`(test\/[^`]+\.test\.ts)`: ("[^"]+"(?:, "[^"]+")*)/g

describe('the tests that docs/security.md names', () => {
  it('are there', async () => {
    const page = await readFile(fileURLToPath(new URL('docs/security.md', ROOT)), 'utf8')
    const named = [...page.replaceAll(/\s+/g, ' ').matchAll(NAMED)].flatMap(([, file = '', names = '']) =>
      [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ file, name })),
    )
    const missing = await Promise.all(named.map(async (one) => ((await isThere(one)) ? [] : [one])))
    expect(missing.flat()).toEqual([])
    expect(named.length).toBeGreaterThan(15)
    // Every test file that is mentioned is mentioned with a test.
    expect(page.match(/test\/[^`\s]+\.test\.ts/g)).toHaveLength(
      [...page.replaceAll(/\s+/g, ' ').matchAll(NAMED)].length,
    )
  })
})

/** As the whole name of a test, or of a row of a table of tests. */
async function isThere({ file, name }: { readonly file: string; readonly name: string }): Promise<boolean> {
  const text = await readFile(fileURLToPath(new URL(file, ROOT)), 'utf8').catch(() => '')
  return [`'${name}'`, `"${name}"`, `\`${name}\``].some((quoted) => text.includes(quoted))
}
