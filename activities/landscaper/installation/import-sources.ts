// Resolves spec.imports to the objects to read, and validates it first. Pure. Source: spec/landscaper.md 1.2, 1.15 and 5.3.

import { dataObjectKind } from '../../../workflows/landscaper/data-object/kind.ts'
import type { WatchedKind } from '../../../workflows/kit/index.ts'
import { configMapResource, secretResource } from '../../kube/core-kinds.ts'
import { finalFailure } from '../../kube/errors.ts'
import { dataObjectName, ROOT_CONTEXT } from '../render/names.ts'
import type { TargetShape } from '../render/deploy-items.ts'
import type { InstallationSpec } from './spec.ts'

export interface DataSource {
  readonly name: string
  /** For messages, e.g. `spec.imports.data[2] "name"`. */
  readonly place: string
  readonly watched: WatchedKind
  readonly object: string
  /** One entry of a Secret or ConfigMap; undefined for the whole object. */
  readonly key: string | undefined
}

/** Names of Target objects. */
export type TargetNames = TargetShape<string>

/** All elements of a list or map that the parent imports; the cluster has their number. */
export interface ElementsOf {
  readonly elementsOf: string
  readonly as: 'list' | 'map'
}

export interface TargetSource {
  readonly name: string
  readonly place: string
  readonly names: TargetNames | ElementsOf
}

export interface ImportSources {
  readonly data: readonly DataSource[]
  readonly targets: readonly TargetSource[]
}

type DataImport = NonNullable<NonNullable<InstallationSpec['imports']>['data']>[number]
type TargetImport = NonNullable<NonNullable<InstallationSpec['imports']>['targets']>[number]

const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/
const MAP_KEY = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/
const DATA_FIELDS = ['dataRef', 'secretRef', 'configMapRef'] as const
const TARGET_FIELDS = ['target', 'targets', 'targetListRef', 'targetMap', 'targetMapRef'] as const

/** Whether a text can be an object's name. Other texts must not become part of an API path. */
export function isObjectName(text: string): boolean {
  return OBJECT_NAME.test(text)
}

/**
 * @param context the scope of the names: the parent's, or the root scope.
 * @throws `ERR_CONFIGURATION_PROBLEM` (final) with all problems of spec.imports.
 */
export function importSources({ imports = {} }: Pick<InstallationSpec, 'imports'>, context: string): ImportSources {
  const problems: string[] = []
  const places = new Map<string, string>()
  const data = (imports.data ?? []).flatMap((one, index) => {
    const place = placeOf('data', index, one.name)
    problems.push(...nameProblems(one.name, place, places))
    const source = dataSource(one, place, context)
    if (typeof source === 'object') return [source]
    problems.push(`${place}: ${source}`)
    return []
  })
  const targets = (imports.targets ?? []).flatMap((one, index) => {
    const place = placeOf('targets', index, one.name)
    problems.push(...nameProblems(one.name, place, places))
    const names = targetNames(one, context)
    if (typeof names === 'object') return [{ name: one.name, place, names }]
    problems.push(`${place}: ${names}`)
    return []
  })
  if (problems.length > 0) throw finalFailure('ERR_CONFIGURATION_PROBLEM', problems.join(' | '))
  return { data, targets }
}

function placeOf(list: string, index: number, name: string): string {
  return `spec.imports.${list}[${index}]${name === '' ? '' : ` "${name}"`}`
}

function nameProblems(name: string, place: string, places: Map<string, string>): string[] {
  if (name === '') return [`${place}: name is missing; add it`]
  const before = places.get(name)
  places.set(name, before ?? place)
  return before === undefined ? [] : [`${place}: found the name of ${before}; expected unique names`]
}

/** The source, or the problem in words. */
function dataSource(one: DataImport, place: string, context: string): DataSource | string {
  const problem = exactlyOne(one, DATA_FIELDS)
  if (problem !== undefined) return problem
  if (hasValue(one.dataRef)) {
    const object = objectName(one.dataRef, context)
    if (object === undefined) return noObjectName('dataRef', one.dataRef)
    return { name: one.name, place, watched: dataObjectKind, object, key: undefined }
  }
  const [field, watched] =
    one.secretRef === undefined
      ? (['configMapRef', configMapResource] as const)
      : (['secretRef', secretResource] as const)
  const reference = one[field]
  if (reference === undefined || !isObjectName(reference.name)) {
    return noObjectName(`${field}.name`, reference?.name ?? '')
  }
  const key = reference.key === '' ? undefined : reference.key
  return { name: one.name, place, watched, object: reference.name, key }
}

function targetNames(one: TargetImport, context: string): TargetSource['names'] | string {
  const problem = exactlyOne(one, TARGET_FIELDS)
  if (problem !== undefined) return problem
  const { target, targets, targetMap } = one
  if (hasValue(target)) return withNames([['target', target]], context, ([name = '']) => ({ target: name }))
  if (targets !== undefined) {
    const fields = targets.map((name, index) => [`targets[${index}]`, name] as const)
    return withNames(fields, context, (names) => ({ list: names }))
  }
  if (targetMap !== undefined) return targetMapNames(targetMap, context)
  const isList = hasValue(one.targetListRef)
  const [field, instead] = isList ? (['targetListRef', 'targets'] as const) : (['targetMapRef', 'targetMap'] as const)
  if (context === ROOT_CONTEXT) return `found ${field}, which only sub-installations may use; expected ${instead}`
  return { elementsOf: one[field] ?? '', as: isList ? 'list' : 'map' }
}

function targetMapNames(targetMap: Readonly<Record<string, string>>, context: string): TargetNames | string {
  const keys = Object.keys(targetMap)
  const wrong = keys.find((key) => !MAP_KEY.test(key))
  if (wrong !== undefined) {
    return `targetMap: found key "${wrong}"; expected at most 63 lower-case letters, digits, dots and dashes`
  }
  const fields = Object.entries(targetMap).map(([key, name]) => [`targetMap.${key}`, name] as const)
  return withNames(fields, context, (names) => ({
    map: Object.fromEntries(keys.map((key, at) => [key, names[at] ?? ''])),
  }))
}

/** The names of the objects, combined by `join`; or the first reference that is no object name. */
function withNames(
  fields: readonly (readonly [string, string])[],
  context: string,
  join: (names: readonly string[]) => TargetNames,
): TargetNames | string {
  const names = fields.map(([, reference]) => objectName(reference, context))
  const wrong = fields.find((_, index) => names[index] === undefined)
  return wrong === undefined ? join(names.filter((name) => name !== undefined)) : noObjectName(...wrong)
}

function exactlyOne(one: Readonly<Record<string, unknown>>, fields: readonly string[]): string | undefined {
  const found = fields.filter((field) => hasValue(one[field]))
  if (found.length === 1) return undefined
  return `found ${found.length === 0 ? 'no source' : found.join(' and ')}; expected exactly one of ${fields.join(', ')}`
}

/** An empty text counts as absent. */
function hasValue<Value>(value: Value | undefined): value is Value {
  return value !== undefined && value !== ''
}

/** The name of the referenced object; undefined if it is no valid object name. */
function objectName(reference: string, context: string): string | undefined {
  if (reference === '') return undefined
  const name = dataObjectName(context, reference)
  return isObjectName(name) ? name : undefined
}

function noObjectName(field: string, found: string): string {
  return `${field}: found ${found === '' ? 'nothing' : `"${found}"`}; expected the name of an object`
}
