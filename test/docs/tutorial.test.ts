// Tests that the code in docs/tutorial-cronjob.md is quoted from the tested files in examples/cronjob.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { firstColumn, links, section } from './markdown.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const page = await readFile(join(DOCS, 'tutorial-cronjob.md'), 'utf8')
const operating = await readFile(join(DOCS, 'operating.md'), 'utf8')
const kit = await readFile(join(DOCS, 'kit.md'), 'utf8')
const headings = page.match(/^## .*$/gm) ?? []

describe('the tutorial', () => {
  it.each(headings)('%s: quotes the files to which the section links', async (heading) => {
    const text = section(page, heading)
    const named = links(text).filter((target) => /\.(?:ts|cm|yaml)$/.test(target))
    const texts = await Promise.all(named.map((file) => readFile(join(DOCS, file), 'utf8')))
    for (const code of quoted(text)) expect(texts.filter((source) => source.includes(code)).length, code).toBe(1)
  })

  // test/package/tutorial.test.ts runs the files that the example lacks.
  it('shows complete files', async () => {
    const own = ['tsconfig.json', 'cron-job/plan.test.ts']
    const files = typed(page).filter(({ path }) => !own.includes(path))
    expect(files.length).toBeGreaterThan(6)
    for (const { path, text } of files)
      expect(text).toBe(await readFile(join(DOCS, '../examples/cronjob', path.replace('cron-job/', '')), 'utf8'))
  })

  it('has code in all sections except "9. Running it"', () => {
    const without = headings.filter(
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
    const flags = firstColumn(section(operating, `### pawl ${named.join(' ')}`)).map((flag) => flag.split(/[ ,]/))
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
