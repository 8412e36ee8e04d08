// Reads the map of the documentation (docs/README.md): its sections, and the pages of each section in order.

export interface MapSection {
  readonly title: string
  readonly groups: readonly MapGroup[]
}

/** The pages below a bold line or in a list item that starts with `Name:`. The pages before the first group have none. */
export interface MapGroup {
  readonly title: string | undefined
  /** Paths relative to docs/, without anchors. */
  readonly pages: readonly string[]
}

const LINK = /\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g

/** @throws if a section of the map has no page. */
export function readMap(markdown: string): readonly MapSection[] {
  const [, ...sections] = markdown.split(/^## /m)
  return sections.map((text) => {
    const [title = '', ...lines] = text.split('\n')
    const groups = readGroups(lines)
    if (groups.length === 0) throw new Error(`docs/README.md: section "${title}" has no page; add one or delete it`)
    return { title, groups }
  })
}

/** The pages that a README.md of a folder lists, such as the kinds. @returns paths relative to docs/. */
export function readIndex(page: string, markdown: string): readonly string[] {
  if (!page.endsWith('/README.md')) return []
  const names = [...markdown.matchAll(LINK)].flatMap(([, name = '']) => (name.includes('/') ? [] : [name]))
  return [...new Set(names)].map((name) => page.replace(/README\.md$/, name))
}

function readGroups(lines: readonly string[]): readonly MapGroup[] {
  const groups: { title: string | undefined; pages: string[] }[] = []
  const seen = new Set<string>()
  let title: string | undefined
  for (const line of lines) {
    title = /^\*\*(.+)\*\*$/.exec(line)?.[1] ?? title
    const group = /^- ([^[\]:]+): \[/.exec(line)?.[1] ?? title
    const pages = [...line.matchAll(LINK)].map(([, page = '']) => page).filter((page) => !seen.has(page))
    if (pages.length === 0) continue
    for (const page of pages) seen.add(page)
    const last = groups.at(-1)
    if (last?.title === group && last !== undefined) last.pages.push(...pages)
    else groups.push({ title: group, pages })
  }
  return groups
}
