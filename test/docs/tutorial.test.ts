// Tests that the code on the pages for authors of controllers is quoted from the tested files of the examples.

import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { documentedFlags, links, section } from './markdown.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const FIRST = 'start/first-controller.md'
const WRITING = ['guides/write-a-controller.md', 'guides/write-actions-and-a-plan.md']
const APP = 'guides/example-app.md'
const CLEAN_UP = 'guides/clean-up-elsewhere.md'
const read = async (page: string) => await readFile(join(DOCS, page), 'utf8')
const first = await read(FIRST)
const app = await read(APP)
const FLAG_PAGES = ['flags.md', 'dev-flags.md', 'author-flags.md', 'command-flags.md']
const reference = await Promise.all(FLAG_PAGES.map((name) => read(`reference/${name}`)))
const writing = await Promise.all(WRITING.map(read))
const kit = await read('guides/controller-project.md')
const headingsOf = (text: string) => text.match(/^## .*$/gm) ?? []

const PAGES = [
  [FIRST, first] as const,
  [APP, app] as const,
  [CLEAN_UP, await read(CLEAN_UP)] as const,
  ...WRITING.map((path, at) => [path, writing[at] ?? ''] as const),
]

describe.each(PAGES)('docs/%s', (path, text) => {
  it.each(headingsOf(text))('%s: quotes the files to which the section links', async (heading) => {
    const part = section(text, heading)
    const named = links(part).filter((target) => /\.(?:ts|cm|yaml)$/.test(target))
    const files = [...new Set(named)].map((file) => join(DOCS, dirname(path), file))
    const texts = await Promise.all(files.map(async (file) => await readFile(file, 'utf8')))
    const code = quoted(part)
    for (const one of code) expect(texts.filter((source) => source.includes(one)).length, one).toBe(1)
    if (text === app) expect(code.length).toBeGreaterThan(0)
  })
})

describe('the pages about the CronJob controller', () => {
  // test/package/installed.test.ts runs the files that the example lacks.
  it('show complete files', async () => {
    const own = ['tsconfig.json', 'cron-job/plan.test.ts']
    const files = typed([first, ...writing].join('\n')).filter(({ path }) => !own.includes(path))
    expect(files.length).toBeGreaterThan(2)
    for (const { path, text } of files)
      expect(text).toBe(await readFile(join(DOCS, '../examples/cronjob', path.replace('cron-job/', '')), 'utf8'))
  })

  it('have code in all sections except "5. Run it" and "Next"', () => {
    const without = [first, ...writing].flatMap((page) =>
      headingsOf(page).filter(
        (heading) => [...quoted(section(page, heading)), ...typed(section(page, heading))].length === 0,
      ),
    )
    expect(without).toEqual(['## 5. Run it', '## Next'])
  })
})

describe('commands of pawl on the pages for authors of controllers', () => {
  const commands = [...[first, ...writing, kit].join('\n').matchAll(/^(?:\$ )?npx pawl (.*)$/gm)].map(
    ([, command = '']) => command,
  )

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
