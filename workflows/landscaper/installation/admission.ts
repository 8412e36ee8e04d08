// What an Installation must be to be stored. What needs other objects, such as the blueprint's own imports, is told when a job begins.
// Source: spec/landscaper.md 5.3.
//
//   I1. Rules about its name hold when it is made: who has one with another name already cannot mend it.

import type { Admission, Problem } from '../../kit/index.ts'
import { PAUSED_ANNOTATION } from '../contract.ts'
import { cronProblem } from '../cron-spec.ts'
import { shownName } from '../item-rules.ts'
import { fieldsOf, has, type JsonFields, listOf, present, textOf } from '../json-fields.ts'
import { steeredByMutations } from '../steered-by.ts'
import { installationKind } from './kind.ts'

// 63 characters of a label's value, less `Inst.` before the name; less the five that the server adds to a generated one.
const NAME_LIMIT = 58
const GENERATED_LIMIT = 53
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const TARGET_MAP_KEY = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/
const DATA_SOURCES = ['dataRef', 'secretRef', 'configMapRef']
const TARGET_SOURCES = ['target', 'targets', 'targetListRef', 'targetMap', 'targetMapRef']

export const installationAdmission: Admission = {
  kind: installationKind,
  operations: ['CREATE', 'UPDATE'],
  validate({ object, operation }) {
    const { metadata, spec } = fieldsOf(object)
    const fields = fieldsOf(spec)
    return [
      ...(operation === 'CREATE' ? nameProblems(fieldsOf(metadata)) : []),
      ...blueprintProblems(fieldsOf(fields['blueprint'])),
      ...componentProblems(fieldsOf(fields['componentDescriptor'])),
      ...importProblems(fieldsOf(fields['imports'])),
      ...exportProblems(fieldsOf(fields['exports'])),
      ...cronProblems(fieldsOf(fields['automaticReconcile'])),
    ]
  },
  further: () => import('../../../activities/landscaper/further-rules.ts'),
  mutations: steeredByMutations([PAUSED_ANNOTATION]),
}

function nameProblems(metadata: JsonFields): readonly Problem[] {
  const { name, generateName } = { name: textOf(metadata['name']), generateName: textOf(metadata['generateName']) }
  const long = (field: string, found: string, limit: number) =>
    found.length > limit
      ? [{ field: `metadata.${field}`, found: `${found.length} characters`, expected: `at most ${limit}` }]
      : []
  const isLabel = name === '' || DNS_LABEL.test(name)
  const letters = 'lower-case letters and digits, with dashes between them'
  return [
    ...(isLabel ? [] : [{ field: 'metadata.name', found: `"${shownName(name)}"`, expected: letters }]),
    ...long('name', name, NAME_LIMIT),
    ...long('generateName', generateName, GENERATED_LIMIT),
  ]
}

function blueprintProblems(blueprint: JsonFields): readonly Problem[] {
  return exactlyOne('spec.blueprint', blueprint, ['ref', 'inline'])
}

function componentProblems(descriptor: JsonFields): readonly Problem[] {
  const at = 'spec.componentDescriptor'
  const both = has(descriptor, 'ref') && has(descriptor, 'inline')
  const ref = fieldsOf(descriptor['ref'])
  return [
    ...(both ? [{ field: at, found: 'ref and inline', expected: 'one of them' }] : []),
    ...(has(descriptor, 'ref') ? ['componentName', 'version'].flatMap((name) => needed(`${at}.ref`, ref, name)) : []),
  ]
}

function importProblems(imports: JsonFields): readonly Problem[] {
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

function exportProblems(exports: JsonFields): readonly Problem[] {
  const [data, targets] = [entriesAt('spec.exports.data', exports), entriesAt('spec.exports.targets', exports)]
  return [
    ...data.flatMap(([at, one]) => ['name', 'dataRef'].flatMap((name) => needed(at, one, name))),
    ...targets.flatMap(([at, one]) => ['name', 'target'].flatMap((name) => needed(at, one, name))),
    ...namedTwice([...data, ...targets]),
  ]
}

function cronProblems(reconcile: JsonFields): readonly Problem[] {
  return ['succeededReconcile', 'failedReconcile'].flatMap((name) => {
    const text = textOf(fieldsOf(reconcile[name])['cronSpec'])
    const found = text === '' ? undefined : cronProblem(text)
    if (found === undefined) return []
    const expected = 'minute, hour, day of month, month and day of week, or one such as @daily'
    return [{ field: `spec.automaticReconcile.${name}.cronSpec`, found, expected }]
  })
}

type Entry = readonly [at: string, fields: JsonFields]

/** The entries of a list, with their paths. @param at the list's path, whose last part is its name in `parent`. */
function entriesAt(at: string, parent: JsonFields): readonly Entry[] {
  return listOf(parent[at.slice(at.lastIndexOf('.') + 1)]).map((one, index) => [`${at}[${index}]`, fieldsOf(one)])
}

function exactlyOne(at: string, fields: JsonFields, names: readonly string[]): readonly Problem[] {
  const found = present(fields, names)
  if (found.length === 1) return []
  return [
    { field: at, found: found.length === 0 ? 'none' : found.join(' and '), expected: `one of ${names.join(', ')}` },
  ]
}

function needed(at: string, fields: JsonFields, name: string): readonly Problem[] {
  return nonEmpty(`${at}.${name}`, fields[name])
}

function nonEmpty(field: string, value: unknown): readonly Problem[] {
  return textOf(value) === '' ? [{ field, found: 'nothing', expected: 'a text that is not empty' }] : []
}

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
