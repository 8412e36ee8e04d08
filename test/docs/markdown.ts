// Reads what the tests of documents look at: sections, first columns of tables, links and headings.

/** The text of a section, from its heading to the next of the same or a higher level. */
export function section(markdown: string, heading: string): string {
  const lines = markdown.split('\n')
  const start = lines.indexOf(heading)
  if (start < 0) throw new Error(`no section "${heading}"`)
  const level = heading.indexOf(' ')
  const end = lines.findIndex((line, index) => index > start && /^#+ /.test(line) && line.indexOf(' ') <= level)
  return lines.slice(start + 1, end < 0 ? undefined : end).join('\n')
}

/** The code words in the first column of all tables. */
export function firstColumn(markdown: string): readonly string[] {
  return markdown.split('\n').flatMap((line) => /^\| `([^`]+)`/.exec(line)?.[1] ?? [])
}

/** The flags of a command, also those in the tables to which its section links. @param pages the texts of docs/reference. */
export function documentedFlags(pages: readonly string[], command: string): readonly string[] {
  const heading = `## ${command}`
  const page = pages.find((text) => text.split('\n').includes(heading))
  if (page === undefined) throw new Error(`no page has the section "${heading}"`)
  const own = section(page, heading)
  const headings = page.match(/^## .*$/gm) ?? []
  const shared = links(own).map((target) => headings.find((one) => anchors(one).includes(target.slice(1))))
  return [own, ...shared.map((one) => section(page, one ?? 'a heading'))].flatMap(firstColumn)
}

/** Targets of links; those inside code are no links. */
export function links(markdown: string): readonly string[] {
  const text = markdown.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => target ?? [])
}

/** The anchors that headings get. */
export function anchors(markdown: string): readonly string[] {
  return markdown
    .replace(/```[\s\S]*?```/g, '')
    .split('\n')
    .flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? [])
    .map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
}
