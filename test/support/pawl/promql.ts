// The series that a PromQL query reads. Not a parser of PromQL: it finds the selectors of the queries in deploy/monitoring.

export interface Selector {
  readonly metric: string
  /** The metric with its matchers. */
  readonly text: string
}

const WORDS = ['by', 'without', 'and', 'or', 'unless', 'on', 'ignoring', 'group_left', 'group_right', 'offset', 'bool']

/** @returns each selector of the query, such as `pawl_jobs_total{outcome="Failed"}`. */
export function selectorsOf(query: string): readonly Selector[] {
  const withoutTexts = query.replace(/,\s*"[^"]*"/g, ' ')
  const withoutGroups = withoutTexts
    .replace(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ')
    .replace(/\[[^\]]*\]/g, ' ')
  const found = withoutGroups.matchAll(/\b([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g)
  return [...found].flatMap(([, metric = '', rest = '']) =>
    rest === '(' || WORDS.includes(metric) || metric === 'le' ? [] : [{ metric, text: metric + rest }],
  )
}
