// test/matrices.md lists each test file that runs a sample of its cases.

import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

describe('test/matrices.md', () => {
  it('lists the test files that use test/support/matrix/form.ts, and no other', () => {
    const page = readFileSync(join(ROOT, 'test/matrices.md'), 'utf8')
    const rows = page.split('\n').filter((line) => line.startsWith('|'))
    const listed = new Set(rows.flatMap((row) => row.match(/test\/[\w/-]+\.test\.ts/g) ?? []))
    const users = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts') && !path.startsWith('support/matrix/'))
      .map((path) => join(ROOT, 'test', path))
      .filter((path) => /from '[^']*matrix\/form\.ts'/.test(readFileSync(path, 'utf8')))
      .map((path) => relative(ROOT, path))
    expect([...listed].sort()).toEqual(users.sort())
  })
})
