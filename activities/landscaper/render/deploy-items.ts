// Decodes the deploy items that templates render, resolves their targets, and validates the list before it becomes an Execution. Source:
// spec/landscaper.md 1.3, 3.6 and 5.3.

import { type NodeDefect, nodeDefects } from '../../../workflows/kit/index.ts'
import { itemProblems, shownName, shownNames } from '../item-rules.ts'
import { readFields, type FieldReader, type Fields, type ReportProblem } from './field-reader.ts'
import type { YamlPath } from '../../yaml/read-yaml.ts'

export interface TargetReference {
  readonly name: string
  readonly namespace: string
}

/** A target import: references to the imported objects, not copies. */
export type ImportedTarget = TargetShape<TargetReference>

/** An item of an Execution in its wire format. */
export interface DeployItemTemplate {
  readonly name: string
  readonly type: string
  readonly config: Fields
  readonly target?: TargetReference
  readonly labels?: Readonly<Record<string, string>>
  readonly dependsOn?: readonly string[]
  /** A Go duration or `none`. */
  readonly timeout?: string
  readonly updateOnChangeOnly?: boolean
  readonly onDelete?: { readonly skipUninstallIfClusterRemoved?: boolean }
}

export interface TargetScope {
  readonly namespace: string
  readonly imports: Readonly<Record<string, ImportedTarget>>
}

/** Decodes the `deployItems` of one document; keys are matched without regard to case, as Go does. */
export function decodeDeployItems(document: Fields, scope: TargetScope, report: ReportProblem): DeployItemTemplate[] {
  const items = readFields(document, [], report, 'fold').list('deployItems') ?? []
  return items.map((item, index) => {
    const path = ['deployItems', index]
    const fields = readFields(item, path, report, 'fold')
    return { name: fields.text('name') ?? '', type: fields.text('type') ?? '', config: configOf(fields), ...optional() }

    function optional(): Omit<DeployItemTemplate, 'name' | 'type' | 'config'> {
      const onDelete = fields.fields('onDelete')
      const skip = readFields(onDelete, [...path, 'onDelete'], report, 'fold').flag('skipUninstallIfClusterRemoved')
      return withoutAbsent({
        target: targetOf(fields, path, scope, report),
        labels: fields.textMap('labels'),
        dependsOn: fields.texts('dependsOn'),
        timeout: fields.text('timeout'),
        updateOnChangeOnly: fields.flag('updateOnChangeOnly'),
        onDelete: onDelete && withoutAbsent({ skipUninstallIfClusterRemoved: skip }),
      })
    }
  })
}

// checkDeployItems reports an absent config, as for an Execution written by hand.
function configOf(fields: FieldReader): Fields {
  return fields.fields('config') ?? {}
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

function withoutAbsent<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Present<T>
}

/** Resolves a target by import, with index or key for a list or map, or by name, as older blueprints do. Refuses targets of other namespaces. */
function targetOf(
  item: FieldReader,
  path: YamlPath,
  scope: TargetScope,
  report: ReportProblem,
): TargetReference | undefined {
  const value = item.fields('target')
  if (value === undefined) return undefined
  const at = [...path, 'target']
  const fields = readFields(value, at, report, 'fold')
  const found = fields.text('import') === undefined ? targetByName(fields, scope) : targetByImport(fields, scope)
  if (typeof found === 'string') {
    report(at, found)
    return undefined
  }
  if (found.namespace === scope.namespace) return found
  report(at, `found a target in namespace "${found.namespace}"; expected namespace "${scope.namespace}"`)
  return undefined
}

function targetByName(fields: FieldReader, scope: TargetScope): TargetReference | string {
  const name = fields.text('name') ?? ''
  return name === ''
    ? 'import and name are missing; set one of them'
    : { name, namespace: fields.text('namespace') ?? scope.namespace }
}

function targetByImport(fields: FieldReader, scope: TargetScope): TargetReference | string {
  const name = fields.text('import') ?? ''
  const imported = Object.hasOwn(scope.imports, name) ? scope.imports[name] : undefined
  if (imported === undefined) return `no target import "${name}"${knownNames(Object.keys(scope.imports))}`
  if ('target' in imported) return imported.target
  if ('list' in imported) {
    const index = fields.integer('index')
    if (index === undefined) return `index is missing; add it, because import "${name}" is a target list`
    return (
      imported.list[index] ??
      `index: found ${index}; expected less than ${imported.list.length}, the length of target list "${name}"`
    )
  }
  const key = fields.text('key')
  if (key === undefined) return `key is missing; add it, because import "${name}" is a target map`
  return (
    (Object.hasOwn(imported.map, key) ? imported.map[key] : undefined) ??
    `no key "${key}" in target map "${name}"${knownNames(Object.keys(imported.map))}`
  )
}

function knownNames(names: readonly string[]): string {
  return names.length === 0 ? '; add it' : `; expected one of ${shownNames(names)}`
}

/** All problems of a list of items except cycles, in words. */
export function checkDeployItems(items: readonly Partial<DeployItemTemplate>[]): string[] {
  const defects = nodeDefects(items.map(({ name = '', dependsOn = [] }) => ({ name, dependsOn })))
  const known = shownNames(items.flatMap(({ name = '' }) => (name === '' ? [] : [name])))
  return items.flatMap((item, index) => {
    const { name = '' } = item
    if (name === '') return [`deploy item ${index + 1}: name is missing; add it`]
    return problemsOf(item, defects[index] ?? [], known).map(
      (problem) => `deploy item "${shownName(name)}": ${problem}`,
    )
  })
}

/** @param known the names of all items, formatted. */
function problemsOf(item: Partial<DeployItemTemplate>, defects: readonly NodeDefect[], known: string): string[] {
  const twice = defects.some(({ defect }) => defect === 'named twice')
  const lost = defects.flatMap((one) =>
    one.defect === 'unknown dependency'
      ? [`dependsOn: no item "${shownName(one.name)}"; expected names of ${known}`]
      : [],
  )
  return [...(twice ? ['found the name twice; expected unique names'] : []), ...itemProblems(item), ...lost]
}

// The shapes of a target import: one Target, a list or a map; of names, references or objects.

export type TargetShape<One> =
  { readonly target: One } | { readonly list: readonly One[] } | { readonly map: Readonly<Record<string, One>> }

/** All targets in order. */
export function targetsIn<One>(shape: TargetShape<One>): readonly One[] {
  if ('target' in shape) return [shape.target]
  return 'list' in shape ? shape.list : Object.values(shape.map)
}

/** The same shape with each target converted. */
export function mapTargets<From, To>(shape: TargetShape<From>, convert: (one: From) => To): TargetShape<To> {
  if ('target' in shape) return { target: convert(shape.target) }
  if ('list' in shape) return { list: shape.list.map((one) => convert(one)) }
  // fromEntries defines own properties, also for a key such as __proto__.
  return { map: Object.fromEntries(Object.entries(shape.map).map(([key, one]) => [key, convert(one)])) }
}

/** The bare target, list or map, without the field that names the shape. */
export function unwrapTargets<One>(shape: TargetShape<One>): One | readonly One[] | Readonly<Record<string, One>> {
  if ('target' in shape) return shape.target
  return 'list' in shape ? shape.list : shape.map
}
