// `readinessChecks` of a deploy item's configuration. Source: spec/landscaper.md 4.5.

import { compileJsonPath, type JsonPath, JsonPathError } from '../json-path.ts'
import type { ObjectReference } from '../../target/read-object.ts'
import { describe, FieldReader, type Fields } from './field-reader.ts'
import type { Operator, Requirement } from './custom-checks.ts'

export interface ReadinessConfig {
  readonly disableDefault: boolean
  readonly custom: readonly CustomCheck[]
}

/** One named check: all selected objects have to satisfy all requirements. */
export interface CustomCheck {
  readonly name: string
  readonly resources: readonly ObjectReference[]
  readonly labels: LabelSelector | undefined
  readonly requirements: readonly Requirement[]
  /** Another Target of the item's namespace. */
  readonly targetName: string | undefined
}

export interface LabelSelector {
  readonly apiVersion: string
  readonly kind: string
  readonly matchLabels: Readonly<Record<string, string>>
}

// A comma or an equals sign would change the selector.
const LABEL_VALUE = /^[\w.-]{0,63}$/
const LABEL_NAME = /^[\w./-]+$/

const OPERATORS: ReadonlyMap<unknown, Operator> = new Map([
  ...(['!', 'exists', '==', '!=', 'in', 'notin'] as const).map((operator) => [operator, operator] as const),
  ['=', '=='],
])

/** Per item; each check reads objects every few seconds while the item waits. */
export const MOST_CHECKS = 200
/** Per item, in all its checks. */
export const MOST_REQUIREMENTS = 500
export const MOST_RESOURCES = 1000

/** Parses the field; absent: default checks only. Mistakes are added to `mistakes`; the result must not be used then. */
export function readReadinessConfig(value: unknown, field: string, mistakes: string[]): ReadinessConfig {
  const reader = new FieldReader(mistakes)
  const config = reader.map(value, field) ?? {}
  const disableDefault = reader.flag(config['disableDefault'], `${field}.disableDefault`)
  const list = reader.list(config['custom'], `${field}.custom`)
  const names = new Set<string>()
  if (list.length > MOST_CHECKS) {
    reader.refuse(`${field}.custom`, `${list.length} checks`, `at most ${MOST_CHECKS}`)
    return { disableDefault, custom: [] }
  }
  const custom = list.flatMap((one, index) => readCheck(reader, one, { field: `${field}.custom[${index}]`, names }))
  const paths = custom.reduce((sum, { requirements }) => sum + requirements.length, 0)
  const found = `${paths} requirements`
  if (paths > MOST_REQUIREMENTS) reader.refuse(`${field}.custom`, found, `at most ${MOST_REQUIREMENTS} in all checks`)
  const resources = custom.reduce((sum, check) => sum + check.resources.length, 0)
  const selected = `${resources} resources`
  if (resources > MOST_RESOURCES) reader.refuse(`${field}.custom`, selected, `at most ${MOST_RESOURCES} in all checks`)
  return { disableDefault, custom }
}

function readCheck(reader: FieldReader, value: unknown, at: { field: string; names: Set<string> }): CustomCheck[] {
  const { field, names } = at
  const check = reader.requiredMap(value, field)
  if (check === undefined) return []
  const name = reader.text(check['name'], `${field}.name`)
  if (names.has(name)) reader.refuse(`${field}.name`, 'the name of an earlier check', 'a unique name')
  names.add(name)
  const isDisabled = reader.flag(check['disabled'], `${field}.disabled`)
  const resources = readResources(reader, check['resourceSelector'], `${field}.resourceSelector`)
  const labels = readLabels(reader, check['labelSelector'], `${field}.labelSelector`)
  if (resources.length === 0 && labels === undefined) {
    reader.refuse(field, 'neither resourceSelector nor labelSelector', 'at least one of them')
  }
  const requirements = readRequirements(reader, check['requirements'], `${field}.requirements`)
  const targetName = reader.optionalText(check['targetName'], `${field}.targetName`)
  return isDisabled ? [] : [{ name, resources, labels, requirements, targetName }]
}

function readResources(reader: FieldReader, value: unknown, field: string): ObjectReference[] {
  return reader.list(value, field).flatMap((one, index) => readReference(reader, one, `${field}[${index}]`) ?? [])
}

/** `{apiVersion, kind, name, namespace}`. */
export function readReference(reader: FieldReader, value: unknown, field: string): ObjectReference | undefined {
  const reference = reader.requiredMap(value, field, 'a map with apiVersion, kind and name')
  if (reference === undefined) return undefined
  return {
    apiVersion: reader.text(reference['apiVersion'], `${field}.apiVersion`),
    kind: reader.text(reference['kind'], `${field}.kind`),
    name: reader.text(reference['name'], `${field}.name`),
    namespace: reader.optionalText(reference['namespace'], `${field}.namespace`),
  }
}

function readLabels(reader: FieldReader, value: unknown, field: string): LabelSelector | undefined {
  const selector = reader.map(value, field)
  if (selector === undefined) return undefined
  const matchLabels = reader.requiredMap(selector['matchLabels'], `${field}.matchLabels`, 'a map of labels') ?? {}
  const entries = Object.entries(matchLabels)
  if (entries.length === 0) reader.refuse(`${field}.matchLabels`, 'an empty map', 'at least one label')
  for (const [name, label] of entries) {
    const isLabel = typeof label === 'string' && LABEL_VALUE.test(label) && LABEL_NAME.test(name)
    if (!isLabel) reader.refuse(`${field}.matchLabels[${name}]`, describe(label), 'a label and its value')
  }
  return {
    apiVersion: reader.text(selector['apiVersion'], `${field}.apiVersion`),
    kind: reader.text(selector['kind'], `${field}.kind`),
    matchLabels: matchLabels as Readonly<Record<string, string>>,
  }
}

function readRequirements(reader: FieldReader, value: unknown, field: string): Requirement[] {
  const list = reader.list(value, field)
  if (list.length === 0)
    reader.refuse(field, value === undefined ? 'nothing' : 'an empty list', 'at least one requirement')
  return list.flatMap((one, index) => {
    const at = `${field}[${index}]`
    const requirement = reader.requiredMap(one, at)
    return requirement === undefined ? [] : readRequirement(reader, requirement, at)
  })
}

function readRequirement(reader: FieldReader, requirement: Fields, field: string): Requirement[] {
  const path = readPath(reader, requirement['jsonPath'], `${field}.jsonPath`)
  const operator = OPERATORS.get(requirement['operator'])
  const values = readValues(reader, requirement['values'], `${field}.values`)
  if (operator === undefined) {
    const expected = `one of ${['=', ...new Set(OPERATORS.values())].join(', ')}`
    reader.refuse(`${field}.operator`, describe(requirement['operator']), expected)
    return []
  }
  const wanted = { '!': [0, 0], exists: [0, 0], '==': [1, 1], '!=': [1, 1], in: [1, Infinity], notin: [1, Infinity] }
  const [least = 0, most = 0] = wanted[operator]
  if (values.length < least || values.length > most) {
    const expected = least === most ? `exactly ${least}` : `at least ${least}`
    reader.refuse(`${field}.values`, `${values.length} values`, `${expected} for operator "${operator}"`)
  }
  return path === undefined ? [] : [{ path, pathText: requirement['jsonPath'] as string, operator, values }]
}

function readValues(reader: FieldReader, value: unknown, field: string): unknown[] {
  return reader.list(value, field).flatMap((one, index) => {
    const holder = reader.requiredMap(one, `${field}[${index}]`, 'a map with the field "value"')
    if (holder === undefined) return []
    if (!('value' in holder)) reader.refuse(`${field}[${index}].value`, 'nothing', 'any value')
    return [holder['value']]
  })
}

/** A path of kubectl without braces. */
export function readPath(reader: FieldReader, value: unknown, field: string): JsonPath | undefined {
  const text = reader.text(value, field, 'a JSON path')
  if (text === '') return undefined
  try {
    return compileJsonPath(text)
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error
    reader.mistakes.push(`${field}: found ${error.message}`)
    return undefined
  }
}
