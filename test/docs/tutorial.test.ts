// Tests that the code in docs/tutorial-cronjob.md and docs/example-app.md is quoted from the tested files of the examples.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { documentedFlags, links, section } from './markdown.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const page = await readFile(join(DOCS, 'tutorial-cronjob.md'), 'utf8')
const reference = await Promise.all(
  ['flags.md', 'command-flags.md'].map((name) => readFile(join(DOCS, 'reference', name), 'utf8')),
)
const app = await readFile(join(DOCS, 'example-app.md'), 'utf8')
const kit = await readFile(join(DOCS, 'kit.md'), 'utf8')
const headingsOf = (text: string) => text.match(/^## .*$/gm) ?? []

describe.each([
  ['the tutorial', page],
  ['the page of the App example', app],
])('%s', (_, text) => {
  it.each(headingsOf(text))('%s: quotes the files to which the section links', async (heading) => {
    const part = section(text, heading)
    const named = links(part).filter((target) => /\.(?:ts|cm|yaml)$/.test(target))
    const texts = await Promise.all([...new Set(named)].map((file) => readFile(join(DOCS, file), 'utf8')))
    const code = quoted(part)
    for (const one of code) expect(texts.filter((source) => source.includes(one)).length, one).toBe(1)
    if (text === app) expect(code.length).toBeGreaterThan(0)
  })
})

describe('the tutorial', () => {
  // test/package/installed.test.ts runs the files that the example lacks.
  it('shows complete files', async () => {
    const own = ['tsconfig.json', 'cron-job/plan.test.ts']
    const files = typed(page).filter(({ path }) => !own.includes(path))
    expect(files.length).toBeGreaterThan(6)
    for (const { path, text } of files)
      expect(text).toBe(await readFile(join(DOCS, '../examples/cronjob', path.replace('cron-job/', '')), 'utf8'))
  })

  it('has code in all sections except "9. Running it"', () => {
    const without = headingsOf(page).filter(
      (heading) => [...quoted(section(page, heading)), ...typed(section(page, heading))].length === 0,
    )
    expect(without).toEqual(['## 9. Running it'])
  })
})

describe('commands of pawl on the pages for authors of controllers', () => {
  const commands = [...`${page}\n${kit}`.matchAll(/^(?:\$ )?npx pawl (.*)$/gm)].map(([, command = '']) => command)

  it('are found', () => {
    expect(commands.length).toBeGreaterThan(5)
  })

  it.each(commands)('have only documented flags: pawl %s', (command) => {
    const words = command.replace(/ +#.*$/, '').split(' ')
    const named = words.slice(
      0,
      words.findIndex((word) => /^[A-Z-]|[./]/.test(word)),
    )
    const flags = documentedFlags(reference, `pawl ${named.join(' ')}`).map((flag) => flag.split(/[ ,]/))
    for (const word of words.filter((word) => word.startsWith('-'))) expect(flags.flat()).toContain(word)
  })
})

/** Files to type: blocks whose first line says which they are. */
function typed(markdown: string): readonly { readonly path: string; readonly text: string }[] {
  const blocks = markdown.matchAll(/^```\w+ (\S+)\n([^]*?\n)```$/gm)
  return [...blocks].map(([, path = '', text = '']) => ({ path, text }))
}

/** Pieces of code in a language; blocks without one are commands. */
function quoted(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```\w+\n([^]*?)\n```$/gm)].flatMap(([, code]) => code ?? [])
}
