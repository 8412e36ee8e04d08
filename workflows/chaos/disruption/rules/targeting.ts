// Rules for selectors and count. Source: spec/chaos.md 1.2, 1.4 (1, 10).

import type { Problem } from '../../../kit/index.ts'
import { fieldsOf, has, type JsonFields, listOf, formatValue, textOf } from '../../json-fields.ts'
import { EXPECTED_SHARE, readCount } from './share.ts'

// Source: k8s.io/apimachinery, validation of qualified names and of label values.
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const LONGEST_PREFIX = 253

/** @param isTemplate the spec belongs to a cron or rollout, which adds the selector of its target. */
export function targetingProblems(spec: JsonFields, at: string, isTemplate: boolean): readonly Problem[] {
  return [
    ...(isTemplate || selectsSome(spec) ? [] : [NEITHER(at)]),
    ...selectorProblems(fieldsOf(spec['selector']), `${at}.selector`),
    ...listOf(spec['advancedSelector']).flatMap((one, index) =>
      requirementProblems(fieldsOf(one), `${at}.advancedSelector[${index}]`),
    ),
    ...countProblems(spec, at),
  ]
}

/** Whether a text may be the value of a label. */
export function isLabelValue(text: string): boolean {
  return text === '' || NAME.test(text)
}

const NEITHER = (at: string): Problem => ({
  field: at,
  found: 'neither selector nor advancedSelector',
  expected: 'labels of the targets in one of them',
})

function selectsSome(spec: JsonFields): boolean {
  return Object.keys(fieldsOf(spec['selector'])).length > 0 || listOf(spec['advancedSelector']).length > 0
}

function selectorProblems(selector: JsonFields, at: string): readonly Problem[] {
  return Object.entries(selector).flatMap(([key, value]) => [
    ...keyProblems(key, at),
    ...valueProblems(value, `${at}[${key}]`),
  ])
}

function requirementProblems(requirement: JsonFields, at: string): readonly Problem[] {
  const { key, operator } = requirement
  const values = listOf(requirement['values'])
  return [
    ...keyProblems(textOf(key), `${at}.key`),
    ...operatorProblems(textOf(operator), values.length, at),
    ...values.flatMap((value, index) => valueProblems(value, `${at}.values[${index}]`)),
  ]
}

function operatorProblems(operator: string, count: number, at: string): readonly Problem[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return count > 0
        ? []
        : [{ field: `${at}.values`, found: 'no values', expected: `at least one value with ${operator}` }]
    case 'Exists':
    case 'DoesNotExist':
      return count === 0
        ? []
        : [{ field: `${at}.values`, found: `${count} values`, expected: `no values with ${operator}` }]
    default:
      return [{ field: `${at}.operator`, found: formatValue(operator), expected: 'In, NotIn, Exists or DoesNotExist' }]
  }
}

function keyProblems(key: string, field: string): readonly Problem[] {
  const slash = key.indexOf('/')
  const [prefix, name] = slash === -1 ? [undefined, key] : [key.slice(0, slash), key.slice(slash + 1)]
  const isGood = NAME.test(name) && (prefix === undefined || (prefix.length <= LONGEST_PREFIX && PREFIX.test(prefix)))
  return isGood
    ? []
    : [{ field, found: formatValue(key), expected: 'the key of a label, such as app or example.com/app' }]
}

function valueProblems(value: unknown, field: string): readonly Problem[] {
  if (typeof value === 'string' && isLabelValue(value)) return []
  return [
    { field, found: formatValue(value), expected: 'the value of a label: at most 63 letters, digits, -, _ and .' },
  ]
}

function countProblems(spec: JsonFields, at: string): readonly Problem[] {
  const { count } = spec
  if (has(spec, 'count') && readCount(count) !== undefined) return []
  return [
    { field: `${at}.count`, found: formatValue(count), expected: `a whole number of at least 1, or ${EXPECTED_SHARE}` },
  ]
}
