// Label selectors in objects, in all their forms: a map of labels, a LabelSelector, or a list of matchExpressions.
// Converts them to the text form of API requests. Pure. Source: k8s.io/apimachinery pkg/apis/meta/v1 LabelSelector and
// its validation of labels.
//
//   S1. An invalid or empty selector selects nothing.
//   S2. A selector with an invalid key or value selects nothing, so a value such as `a,b=c` cannot add a requirement.

import { fieldsOf, listOf, isFields } from '../../kind/json-fields.ts'

const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/
const LABEL_KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

export function isLabelValue(text: unknown): text is string {
  return typeof text === 'string' && LABEL_VALUE.test(text)
}

/** The selector in text form; undefined when it selects nothing (S1, S2). */
export function labelSelectorText(value: unknown): string | undefined {
  if (Array.isArray(value)) return labelSelectorText({ matchExpressions: value })
  const fields = fieldsOf(value)
  const { matchLabels, matchExpressions } = fields
  const isLabelSelector = isFields(matchLabels) || Array.isArray(matchExpressions)
  const labels = isLabelSelector ? fieldsOf(matchLabels) : fields
  const expressions = isLabelSelector ? listOf(matchExpressions) : []
  const requirements = [...Object.entries(labels).map(formatLabel), ...expressions.map(formatRequirement)]
  return requirements.length === 0 || requirements.includes(undefined) ? undefined : requirements.join(',')
}

/**
 * Returns labels that every selected object has: `app=shop`, or the key `app` if the selector allows several values.
 * Incomplete: leaves out requirements that exclude labels or values.
 *
 * @param selector in text form.
 */
export function requiredLabels(selector: string): readonly string[] {
  return [...selector.matchAll(/([^,(]+)(?:\(([^)]*)\))?/g)].flatMap(([, requirement = '', values]) => {
    const [key = '', operator = ''] = requirement.trim().split(' ')
    // `!key` excludes the label, and `key!=value` matches objects without it.
    if (operator === 'notin' || key === '' || key.includes('!')) return []
    return operator === 'in' && values?.includes(',') === false ? [`${key}=${values}`] : [key]
  })
}

/** Whether the selector is absent, `{}` or `[]`. A selector such as `{matchLabels: {}}` is not: it selects nothing (S1). */
export function isEmptySelector(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return Array.isArray(value) ? value.length === 0 : isFields(value) && Object.keys(value).length === 0
}

function formatLabel([key, value]: readonly [string, unknown]): string | undefined {
  return LABEL_KEY.test(key) && isLabelValue(value) ? `${key}=${value}` : undefined
}

type FormatRequirement = (key: string, values: string) => string

const OPERATORS: Readonly<Record<string, readonly [takesValues: boolean, format: FormatRequirement]>> = {
  In: [true, (key, values) => `${key} in (${values})`],
  NotIn: [true, (key, values) => `${key} notin (${values})`],
  Exists: [false, (key) => key],
  DoesNotExist: [false, (key) => `!${key}`],
}

function formatRequirement(requirement: unknown): string | undefined {
  const { key, operator, values = [] } = fieldsOf(requirement)
  if (typeof key !== 'string' || !LABEL_KEY.test(key) || typeof operator !== 'string') return undefined
  const [takesValues, format] = (Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined) ?? []
  if (format === undefined || !Array.isArray(values) || !values.every(isLabelValue)) return undefined
  return values.length > 0 === takesValues ? format(key, values.join(',')) : undefined
}
