// Checks the blueprint, component, imports and exports of an Installation beyond the CRD's schema, which has only types
// and required fields, as in Landscaper. The validating webhook applies all rules before the API server stores the
// object. The job applies the rules of sources and exports again, for objects that bypassed the webhook
// (activities/landscaper/installation/spec.ts). Pure. Source: spec/landscaper.md 5.3.
//
// Below, `at` is the path of a field, for messages, and `one` is an entry of a list of imports or exports.

import type { Problem } from '../../../kit/index.ts'
import { shownName } from '../../item-rules.ts'
import { fieldsOf, has, type JsonFields, listOf, present, textOf } from '../../json-fields.ts'

// Weaker than a DNS-1123 subdomain: `a..b` is valid, too.
const TARGET_MAP_KEY = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/
const DATA_SOURCES = ['dataRef', 'secretRef', 'configMapRef']
const TARGET_SOURCES = ['target', 'targets', 'targetListRef', 'targetMap', 'targetMapRef']

/** Rules about `spec.blueprint` and `spec.componentDescriptor`. */
export function sourceProblems(spec: JsonFields): readonly Problem[] {
  return [
    ...blueprintProblems(fieldsOf(spec['blueprint'])),
    ...componentProblems(fieldsOf(spec['componentDescriptor'])),
  ]
}

function blueprintProblems(blueprint: JsonFields): readonly Problem[] {
  return exactlyOne('spec.blueprint', blueprint, ['ref', 'inline'])
}

/** A component is optional: at most one of `ref` and `inline`. */
function componentProblems(descriptor: JsonFields): readonly Problem[] {
  const at = 'spec.componentDescriptor'
  const both = has(descriptor, 'ref') && has(descriptor, 'inline')
  const ref = fieldsOf(descriptor['ref'])
  return [
    ...(both ? [{ field: at, found: 'ref and inline', expected: 'one of them' }] : []),
    ...(has(descriptor, 'ref') ? ['componentName', 'version'].flatMap((name) => needed(`${at}.ref`, ref, name)) : []),
  ]
}

/** Rules about `spec.imports`. */
export function importProblems(imports: JsonFields): readonly Problem[] {
  const [data, targets] = [entriesAt('spec.imports.data', imports), entriesAt('spec.imports.targets', imports)]
  return [
    ...data.flatMap(([at, one]) => [
      ...needed(at, one, 'name'),
      ...exactlyOne(at, one, DATA_SOURCES),
      ...['secretRef', 'configMapRef'].flatMap((name) =>
        has(one, name) ? needed(`${at}.${name}`, fieldsOf(one[name]), 'name') : [],
      ),
    ]),
    ...targets.flatMap(([at, one]) => [
      ...needed(at, one, 'name'),
      ...exactlyOne(at, one, TARGET_SOURCES),
      ...targetNameProblems(at, one),
    ]),
    ...namedTwice([...data, ...targets]),
  ]
}

function targetNameProblems(at: string, one: JsonFields): readonly Problem[] {
  const map = Object.entries(fieldsOf(one['targetMap']))
  return [
    ...listOf(one['targets']).flatMap((name, index) => nonEmpty(`${at}.targets[${index}]`, name)),
    ...map.flatMap(([key, name]) => [
      ...(TARGET_MAP_KEY.test(key) ? [] : [keyProblem(at, key)]),
      ...nonEmpty(`${at}.targetMap.${shownName(key)}`, name),
    ]),
  ]
}

function keyProblem(at: string, key: string): Problem {
  const expected = 'keys of at most 63 lower-case letters and digits, with dots and dashes between them'
  return { field: `${at}.targetMap`, found: `the key "${shownName(key)}"`, expected }
}

/** Rules about `spec.exports`. */
export function exportProblems(exports: JsonFields): readonly Problem[] {
  const [data, targets] = [entriesAt('spec.exports.data', exports), entriesAt('spec.exports.targets', exports)]
  return [
    ...data.flatMap(([at, one]) => ['name', 'dataRef'].flatMap((name) => needed(at, one, name))),
    ...targets.flatMap(([at, one]) => ['name', 'target'].flatMap((name) => needed(at, one, name))),
    ...namedTwice([...data, ...targets]),
  ]
}

type Entry = readonly [at: string, fields: JsonFields]

/**
 * The entries of a list, with their paths.
 *
 * @param at the list's path, such as `spec.imports.data`; its last segment, `data`, is the list's field in `parent`.
 */
function entriesAt(at: string, parent: JsonFields): readonly Entry[] {
  return listOf(parent[at.slice(at.lastIndexOf('.') + 1)]).map((one, index) => [`${at}[${index}]`, fieldsOf(one)])
}

/** Exactly one of the fields must have a value; an empty text is no value. */
function exactlyOne(at: string, fields: JsonFields, names: readonly string[]): readonly Problem[] {
  const found = present(fields, names)
  if (found.length === 1) return []
  return [
    { field: at, found: found.length === 0 ? 'none' : found.join(' and '), expected: `one of ${names.join(', ')}` },
  ]
}

/** The field must be a text that is not empty. */
function needed(at: string, fields: JsonFields, name: string): readonly Problem[] {
  return nonEmpty(`${at}.${name}`, fields[name])
}

/** Like `needed`, for a value whose path is known. A value of another type counts as empty. */
function nonEmpty(field: string, value: unknown): readonly Problem[] {
  return textOf(value) === '' ? [{ field, found: 'nothing', expected: 'a text that is not empty' }] : []
}

/** Names must be unique over `data` and `targets` together. */
function namedTwice(entries: readonly Entry[]): readonly Problem[] {
  const first = new Map<string, string>()
  return entries.flatMap(([at, fields]) => {
    const name = textOf(fields['name'])
    const before = name === '' ? undefined : first.get(name)
    if (name !== '' && before === undefined) first.set(name, at)
    const expected = 'unique names over data and targets'
    return before === undefined
      ? []
      : [{ field: `${at}.name`, found: `"${shownName(name)}", which ${before} has`, expected }]
  })
}
