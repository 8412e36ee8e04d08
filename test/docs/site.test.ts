// Tests the site of docs/ without the generator. `npm test` also builds the site and checks all its pages (test/run.js).

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

import { checkSite, POLICY } from '../../site/check.ts'
import { llmsText } from '../../site/llms-text.ts'
import { readIndex, readMap } from '../../site/map.ts'
import { replaceLinks, summaryOf } from '../../site/markdown.ts'
import { releasesOf } from '../../site/versions.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const MAP = '# Map\n\n## Guides\n\n- [First](a.md), and [second](b.md#part)\n\n**Operate**\n\n- Flags: [Third](c.md)\n'

describe('the map of the documentation', () => {
  it('contains every page of docs/', () => {
    const readPage = (path: string) => readFileSync(join(DOCS, path), 'utf8')
    const listed = readMap(readPage('README.md'))
      .flatMap(({ groups }) => groups.flatMap((group) => group.pages))
      .flatMap((path) => [path, ...readIndex(path, readPage(path))])
    const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.md') && path !== 'README.md',
    )
    expect([...listed].sort()).toEqual(pages.sort())
  })

  it('is read as sections with groups of pages', () => {
    expect(readMap(MAP)).toEqual([
      {
        title: 'Guides',
        groups: [
          { title: undefined, pages: ['a.md', 'b.md'] },
          { title: 'Flags', pages: ['c.md'] },
        ],
      },
    ])
  })

  it('includes the pages that an index lists', () => {
    const index = '[a](a.md#x), [b](b.md), [a](a.md), [other](../c.md)'
    expect(readIndex('kinds/README.md', index)).toEqual(['kinds/a.md', 'kinds/b.md'])
    expect(readIndex('kinds.md', index)).toEqual([])
  })

  it('becomes llms.txt, with the first sentence of each page', () => {
    const text = llmsText(
      readMap(MAP),
      (path) => `# Page ${path}\n\nYou \`get\` [one](x.md) thing. And more.\n`,
      '/docs/',
    )
    expect(text).toContain('\n## Guides\n\n- [Page a.md](/docs/a.md): You get one thing.\n')
  })
})

describe('the versions of the site', () => {
  it('are the dated versions of the changelog', () => {
    const changelog =
      '# Changelog\n\n## 1.3.0\n\n- a\n\n## 1.2.0 - 2026-12-31\n\n### Fixed\n\n## [1.1.0] - 2026-11-30\n'
    expect(releasesOf(changelog)).toEqual(['1.2.0', '1.1.0'])
  })
})

describe('a page of the site', () => {
  it('has replaced links except in code', () => {
    const markdown = '[`a`](a.md) ![b](b.svg) `[c](c.md)`\n```\n[d](d.md)\n```\n[e](e.md#f)\n'
    expect(replaceLinks(markdown, (target) => target.toUpperCase())).toBe(
      '[`a`](A.MD) ![b](B.SVG) `[c](c.md)`\n```\n[d](d.md)\n```\n[e](E.MD#F)\n',
    )
  })

  it('has no summary if it starts with code or a table', () => {
    expect(summaryOf('# A\n\n```sh\nls\n```\n')).toBe('')
    expect(summaryOf('# A\n\n`ls` lists files: all of them.\n')).toBe('ls lists files: all of them.')
  })
})

describe('the check of the built site', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-site-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const problemsOf = (body: string, policy = POLICY) => {
    writeFileSync(join(folder, 'index.html'), `<meta content="${policy}"><body>${body}<h2 id="here"></h2>`)
    return checkSite(folder, '/base/')
  }

  it('accepts links to pages and anchors, links to other hosts, and embedded images', () => {
    const links = ['#here', '/base/', '/base/index.html#here', 'index.html', 'https://example.com/']
    const html = links.map((link) => `<a class="x" href="${link}">x</a>`).join('')
    expect(problemsOf(`${html}<img alt="" src="data:image/png;base64,AA"><link rel="icon" href="data:,">`)).toEqual([])
  })

  it.each([
    ['<a href="/base/none.html">x</a>', 'page "index.html": link "/base/none.html" leads to no page'],
    ['<a href="#none">x</a>', 'page "index.html": link "#none": page "index.html" has no such anchor'],
    ...[
      '<script src="//cdn.example/a.js"></script>',
      '<link href="//cdn.example/a.js" rel="stylesheet">',
      '<style>a{background:url(//cdn.example/a.js)}</style>',
    ].map((html) => [
      html,
      'page "index.html": loads "//cdn.example/a.js" from another host; copy the file into docs/',
    ]),
  ])('reports %s', (html, problem) => {
    expect(problemsOf(html)).toEqual([problem])
  })

  it('reports a page without a content security policy, and a folder without pages', () => {
    expect(problemsOf('', 'none')).toEqual(['page "index.html": the content security policy is missing'])
    rmSync(join(folder, 'index.html'))
    expect(checkSite(folder, '/')).toEqual([`"${folder}": no page; build the site first`])
  })
})
