// Tests that docs/example-app.md quotes its code from the files to which the same section links.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { links, section } from './markdown.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const page = await readFile(join(DOCS, 'example-app.md'), 'utf8')
const headings = page.match(/^## .*$/gm) ?? []

describe('the page of the App example', () => {
  it.each(headings)('%s: quotes the files that it names', async (heading) => {
    const text = section(page, heading)
    const named = links(text).filter((target) => /\.(?:ts|cm)$/.test(target))
    const texts = await Promise.all([...new Set(named)].map((file) => readFile(join(DOCS, file), 'utf8')))
    const quoted = [...text.matchAll(/^```(?:ts|cm)\n([^]*?)\n```$/gm)].map(([, code = '']) => code)
    expect(quoted.length).toBeGreaterThan(0)
    for (const code of quoted) expect(texts.filter((source) => source.includes(code)).length, code).toBe(1)
  })
})
