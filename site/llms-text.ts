// Writes llms.txt: the list of pages with one line each, for programs that read the documentation.

import { readIndex, type MapSection } from './map.ts'
import { summaryOf, titleOf } from './markdown.ts'

export function llmsText(map: readonly MapSection[], readPage: (path: string) => string, base: string): string {
  const sections = map.map(({ title, groups }) => {
    const lines = groups
      .flatMap(({ pages }) => pages)
      .flatMap((path) => [path, ...readIndex(path, readPage(path))])
      .map((path) => [path.replace(/README\.md$/, 'index.md'), readPage(path)] as const)
      .map(([path, text]) => `- [${titleOf(text)}](${base}${path}): ${summaryOf(text)}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  const readme =
    '# Pawl\n\n> A durable reconcile engine for Kubernetes: each job is a Temporal workflow, each event and write a journal entry.\n'
  return [readme, ...sections].join('\n')
}
