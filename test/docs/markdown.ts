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
