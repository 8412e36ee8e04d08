import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readKindFolders } from '../../worker/server/kind-folders.ts'
import { anchors, links } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SKIPPED = /(?:^|\/)(?:node_modules|\.git|site\/dist)(?:\/|$)/

describe('the documents', () => {
  it('have no broken links', async () => {
    const pages = await documents()
    const broken = await Promise.all(pages.map(async (page) => await brokenLinks(page)))
    expect(broken.flat()).toEqual([])
    expect(pages.length).toBeGreaterThan(10)
  })

  it('keep the README at most 120 lines long and the page of a kind under 100 words', async () => {
    const pages = await documents()
    const words = async (page: string) => (await prose(page)).split(/\s+/).filter((word) => /\w/.test(word)).length
    const kinds = pages.filter((page) => page.startsWith('workflows/'))
    expect(await Promise.all(kinds.map(async (page) => [page, (await words(page)) <= 100]))).toEqual(
      kinds.map((page) => [page, true]),
    )
    expect((await readFile(join(ROOT, 'README.md'), 'utf8')).trimEnd().split('\n').length).toBeLessThanOrEqual(120)
  })

  it('have at most 250 lines, except decisions and the generated pages of kinds', async () => {
    const pages = (await documents()).filter((page) => /^docs\/(?!adr\/|reference\/kinds\/)/.test(page))
    const lines = await Promise.all(
      pages.map(async (page) => (await readFile(join(ROOT, page), 'utf8')).split('\n').length - 1),
    )
    expect(pages.map((page, at) => `${page}: ${lines[at] ?? 0}`).filter((_, at) => (lines[at] ?? 0) > 250)).toEqual([])
  })

  it('explain each kind in the folder of its definition', async () => {
    const kinds = (await readKindFolders(ROOT)).map(({ folder }) => `workflows/${folder}/README.md`)
    const explained = (await documents()).filter((page) => /^workflows\/[^/]+\/[^/]+\/README\.md$/.test(page))
    expect(explained.sort()).toEqual(kinds.sort())
  })
})

async function documents(): Promise<readonly string[]> {
  const folders = ['docs', 'workflows', 'examples', 'deploy', 'site', 'test']
  const below = await Promise.all(
    folders.map(async (folder) => await readdir(join(ROOT, folder), { withFileTypes: true, recursive: true })),
  )
  const found = below.flat().map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
  return ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...found].filter(
    (path) => path.endsWith('.md') && !SKIPPED.test(path),
  )
}

/** Diagrams and other code count as no words. */
async function prose(page: string): Promise<string> {
  return (await readFile(join(ROOT, page), 'utf8')).replace(/```[\s\S]*?```/g, '')
}

async function brokenLinks(page: string): Promise<string[]> {
  const found = links(await readFile(join(ROOT, page), 'utf8')).filter((target) => !/^[a-z]+:/.test(target))
  const broken = await Promise.all(
    found.map(async (target) => ((await exists(page, target)) ? [] : [`${page}: ${target}`])),
  )
  return broken.flat()
}

async function exists(page: string, target: string): Promise<boolean> {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (anchor === undefined)
    return await readdir(join(ROOT, dirname(file))).then(
      (names) => names.includes(file.split('/').at(-1) ?? ''),
      () => false,
    )
  return await readFile(join(ROOT, file), 'utf8').then(
    (text) => anchors(text).includes(anchor),
    () => false,
  )
}
