// Reads titles, summaries and links of Markdown pages.

export function titleOf(markdown: string): string {
  return plain(/^# (.+)$/m.exec(markdown)?.[1] ?? '')
}

/** The first sentence after the title. */
export function summaryOf(markdown: string): string {
  const [, paragraph = ''] =
    /^# .+\n+(?:<!--[\s\S]*?-->\n+)?((?!```|[#|!>])\S[\s\S]*?)(?:\n\n|$(?![\s\S]))/m.exec(markdown) ?? []
  const text = plain(paragraph.replaceAll('\n', ' '))
  return /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text.replace(/:$/, '.')
}

function plain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '')
}

/** Replaces the targets of links and images, except in code. */
export function replaceLinks(markdown: string, replace: (target: string) => string): string {
  return markdown
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : replaceInProse(part, replace)))
    .join('')
}

function replaceInProse(text: string, replace: (target: string) => string): string {
  return text.replaceAll(/(`+)[^`]+\1|\]\(([^)\s]+)\)/g, (match, _code, target?: string) =>
    target === undefined ? match : `](${replace(target)})`,
  )
}
