// The series that a PromQL query reads. Not a parser of PromQL: it finds the selectors of the queries in deploy/monitoring.

import type { Scraped } from './scrape.ts'

export interface Selector {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[]
}

const WORDS = ['by', 'without', 'and', 'or', 'unless', 'on', 'ignoring', 'group_left', 'group_right', 'offset', 'bool']

/** @returns each selector of the query, such as `pawl_jobs_total{outcome="Failed"}`. */
export function selectorsOf(query: string): readonly Selector[] {
  const withoutGroups = query.replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ').replace(/\[[^\]]*\]/g, ' ')
  const found = withoutGroups.matchAll(/\b([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g)
  return [...found].flatMap(([, metric = '', rest = '']) =>
    rest === '(' || WORDS.includes(metric) || metric === 'le' ? [] : [{ metric, matchers: matchersOf(rest) }],
  )
}

function matchersOf(braces: string): Selector['matchers'] {
  return [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
    label,
    operator,
    value,
  }))
}

/** @returns the lines of the scrape that the selector reads. */
export function linesOf(scraped: Scraped, { metric, matchers }: Selector): readonly string[] {
  return scraped.split('\n').filter((line) => {
    const [, name, labels = ''] = /^([\w:]+)(?:\{(.*)\})? /.exec(line) ?? []
    return name === metric && matchers.every((matcher) => isMatch(labels, matcher))
  })
}

function isMatch(labels: string, { label, operator, value }: Selector['matchers'][number]): boolean {
  const text = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(labels)?.[1] ?? ''
  const isEqual = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(text) : text === value
  return operator.startsWith('!') ? !isEqual : isEqual
}
