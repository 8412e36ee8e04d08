import { describe, expect, it } from 'vitest'

import { findUnavailableNames } from '../../../worker/server/sandbox-check.ts'

const missing = (text: string, isTypeScript = true) =>
  findUnavailableNames(text, isTypeScript)?.missing.map(
    ({ what, name, line, column }) => `${line}:${column} ${what} ${name}`,
  )

describe('a name that the sandbox lacks', () => {
  it('is reported with its position, after types and comments', () => {
    const text = [
      '// fetch, process and node:fs in a comment',
      "import { createHash } from 'node:crypto'",
      "import fs from 'fs/promises'",
      "import { assert } from 'node:assert'",
      "export { join } from 'node:path'",
      'interface Answer { readonly process: string }',
      'export const ask = async (url: string): Promise<Answer> => (await fetch(url)) as unknown as Answer',
      'const home: string = process.env.HOME ?? "process"',
      'export class Timer { readonly setInterval = () => setInterval(() => undefined, 1) }',
    ].join('\n')
    expect(missing(text)).toEqual([
      '2:1 import node:crypto',
      '3:1 import fs/promises',
      '5:1 import node:path',
      '7:67 global fetch',
      '8:22 global process',
      '9:51 global setInterval',
    ])
  })

  it.each([
    ['a type that is imported', "import type { Hash } from 'node:crypto'"],
    ['a field of another object', 'export const a = (b) => b.fetch(b.process, { process: 1, fetch() {} })'],
    ['a name of the module’s own', 'const process = 1; export const a = process'],
    [
      'a parameter',
      'export const run = (fetch, { process, other: Buffer = 1 }, [crypto]) => fetch(process, Buffer, crypto)',
    ],
    ['a name that is imported', "import { fetch, x as process } from './mine.ts'; fetch(process)"],
    ['what is only asked for', "export const isNode = typeof process !== 'undefined'"],
    ['a module of activities', "export const load = () => import('./quotes.activities.ts')"],
    ['a text', "export const a = 'fetch(process)'"],
    ['what is no module at all', 'export const = 1'],
  ])('is not %s', (_, text) => {
    expect(missing(text) ?? []).toEqual([])
  })

  it('is reported in a shorthand property', () => {
    expect(missing('export const a = { fetch }', false)).toEqual(['1:20 global fetch'])
    // A default value declares nothing.
    expect(missing('export const a = (get = fetch) => get(fetch)', false)).toContain('1:25 global fetch')
  })
})
