// Writes the pages that the generator reads: the README, all pages of docs/, and each file and folder of the repository
// that these pages link to. Links stay valid because each target becomes a page.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'

import { replaceLinks } from './markdown.ts'

const IMAGES = ['.png', '.svg']

/** Languages of code blocks that the generator does not know. */
const LANGUAGES: Readonly<Record<string, string>> = { '.cm': 'yaml', '.ts': 'ts', '.yaml': 'yaml', '.js': 'js' }

/** The page of a path of the repository, relative to the site. */
export function pageOf(root: string, path: string): string {
  if (path === 'README.md') return 'index.md'
  if (path === 'docs/README.md') return 'map.md'
  if (path.startsWith('docs/')) return path.slice('docs/'.length).replace(/README\.md$/, 'index.md')
  if (statSync(join(root, path)).isDirectory()) return `source/${path}/index.md`
  return path.endsWith('.md') || IMAGES.includes(extname(path)) ? `source/${path}` : `source/${path}.md`
}

/** @returns the pages of docs/, relative to docs/. */
export function writePages(root: string, folder: string): readonly string[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.md'),
  )
  // The loop appends the targets of links, so it also writes the pages that only other pages link to.
  const paths = new Set(['README.md', ...pages.map((path) => `docs/${path}`)])
  for (const path of paths) for (const target of writePage(root, folder, path)) paths.add(target)
  return pages
}

/** @returns the paths that the page links to. */
function writePage(root: string, folder: string, path: string): ReadonlySet<string> {
  const to = join(folder, pageOf(root, path))
  mkdirSync(dirname(to), { recursive: true })
  const targets = new Set<string>()
  if (IMAGES.includes(extname(path))) copyFileSync(join(root, path), to)
  else {
    const base = statSync(join(root, path)).isDirectory() ? path : dirname(path)
    const text = replaceLinks(markdownOf(root, path), (link) => {
      const [file = '', anchor] = link.split('#')
      if (file === '' || /^[a-z]+:/.test(link)) return link
      const target = relative('.', join(base, file))
      targets.add(target)
      const url = relative(dirname(pageOf(root, path)), pageOf(root, target))
      return `${url.startsWith('.') ? '' : './'}${url}${anchor === undefined ? '' : `#${anchor}`}`
    })
    writeFileSync(to, text)
  }
  return targets
}

function markdownOf(root: string, path: string): string {
  const file = join(root, path)
  if (statSync(file).isDirectory()) {
    const names = readdirSync(file).filter((name) => !name.startsWith('.') && name !== 'node_modules')
    return `# ${path}/\n\n${names.map((name) => `- [${name}](${name})`).join('\n')}\n`
  }
  const text = readFileSync(file, 'utf8')
  // The generator shows comments as text, because it allows no HTML in pages.
  if (path.endsWith('.md')) return text.replaceAll(/^<!--[\s\S]*?-->$/gm, '')
  return `# ${path}\n\n\`\`\`\`${LANGUAGES[extname(path)] ?? 'txt'}\n${text.trimEnd()}\n\`\`\`\`\n`
}
