// One template of a sub-installation, as a blueprint has it: read leniently, and turned into the spec of an Installation.
// Source: spec/landscaper.md 2.5, 3.5.

import type { JsonValue } from '../../../workflows/kit/index.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { BlueprintError } from './blueprint-error.ts'
import { resourceAt, type ComponentScope } from './component-scope.ts'
import { isFields, printPath, readFields, type FieldReader, type Fields, type ReportProblem } from './field-reader.ts'

type InstallationSpec = Installation['spec']
type Imports = NonNullable<InstallationSpec['imports']>
type Exports = NonNullable<InstallationSpec['exports']>
export type DataImport = NonNullable<Imports['data']>[number]
export type TargetImport = NonNullable<Imports['targets']>[number]
type TargetExport = Required<NonNullable<Exports['targets']>[number]>

/** What a template says, in the words of an Installation. */
export interface SubinstallationTemplate {
  readonly name: string
  readonly blueprint: InstallationSpec['blueprint']
  /** Of which the blueprint is; absent: it is that of the parent. */
  readonly componentDescriptor?: InstallationSpec['componentDescriptor']
  readonly imports: { readonly data: readonly DataImport[]; readonly targets: readonly TargetImport[] }
  readonly exports: { readonly data: NonNullable<Exports['data']>; readonly targets: readonly TargetExport[] }
  readonly importDataMappings?: Fields
  readonly exportDataMappings?: Fields
  readonly optimization?: NonNullable<InstallationSpec['optimization']>
}

/** The name is the beginning of the object's. Source: spec/landscaper.md 5.3. */
export const LONGEST_TEMPLATE_NAME = 52
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
const KIND = 'InstallationTemplate'
const API_VERSION = 'landscaper.gardener.cloud/v1alpha1'

export interface TemplateSurroundings {
  /** Of the template, for messages. */
  readonly place: string
  /** That of the parent's blueprint, which references of blueprints begin at. */
  readonly component: ComponentScope | undefined
}

export function readTemplate(
  value: unknown,
  { place, component }: TemplateSurroundings,
  problems: string[],
): SubinstallationTemplate {
  const report: ReportProblem = (path, problem) =>
    problems.push([place, ...(path.length === 0 ? [] : [printPath(path)])].join(': ') + `: ${problem}`)
  const fields = readFields(value, [], report, 'fold')
  checkKind(fields, report)
  return {
    name: nameOf(fields, report),
    ...blueprintOf(fields, component, report),
    imports: importsOf(fields, report),
    exports: exportsOf(fields, report),
    ...present('importDataMappings', fields.fields('importDataMappings')),
    ...present('exportDataMappings', fields.fields('exportDataMappings')),
    ...present('optimization', optimizationOf(fields, report)),
  }
}

function present<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>)
}

// Both may be absent in what is written in place; the reference asks for them in rendered ones only.
function checkKind(fields: FieldReader, report: ReportProblem): void {
  const kind = fields.text('kind') ?? KIND
  if (kind !== KIND) report(['kind'], `found ${kind}, expected ${KIND}`)
  const version = fields.text('apiVersion') ?? API_VERSION
  if (version !== API_VERSION) report(['apiVersion'], `found ${version}, expected ${API_VERSION}`)
}

function nameOf(fields: FieldReader, report: ReportProblem): string {
  const name = fields.text('name') ?? ''
  if (name === '') report([], 'found no name, expected one')
  else if (name.length > LONGEST_TEMPLATE_NAME)
    report(['name'], `found ${name.length} characters, expected at most ${LONGEST_TEMPLATE_NAME}`)
  else if (!DNS_LABEL.test(name))
    report(['name'], 'found other characters, expected lower-case letters and digits, with dashes between them')
  return name
}

type TemplateBlueprint = Pick<SubinstallationTemplate, 'blueprint' | 'componentDescriptor'>

function blueprintOf(
  fields: FieldReader,
  component: ComponentScope | undefined,
  report: ReportProblem,
): TemplateBlueprint {
  const blueprint = readFields(fields.fields('blueprint'), ['blueprint'], report, 'fold')
  const ref = blueprint.text('ref') ?? ''
  const filesystem = blueprint.raw('filesystem')
  if ((ref === '') === (filesystem === undefined)) {
    const found = ref === '' ? 'neither ref nor filesystem' : 'both ref and filesystem'
    report(['blueprint'], `found ${found}, expected one of them`)
  }
  if (ref !== '') return referredBlueprint(ref, component, report)
  // Part of a parsed document.
  return { blueprint: { inline: { filesystem: filesystem as JsonValue } } }
}

// Source: spec/landscaper.md 2.5. The URI may lack its scheme.
function referredBlueprint(
  ref: string,
  component: ComponentScope | undefined,
  report: ReportProblem,
): TemplateBlueprint {
  const nothing = { blueprint: { ref: { resourceName: '' } } }
  const say = (problem: string) => {
    report(['blueprint', 'ref'], problem)
    return nothing
  }
  if (component === undefined)
    return say('found no spec.componentDescriptor in the installation that the resource could be of, expected one')
  try {
    const found = resourceAt(component, ref.startsWith('cd://') ? ref : `cd://${ref}`)
    const definition = component.definitionOf(found.component) as InstallationSpec['componentDescriptor']
    return { blueprint: { ref: { resourceName: found.resource.name } }, componentDescriptor: definition }
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    return say(error.message)
  }
}

function importsOf(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['imports'] {
  const imports = readFields(fields.fields('imports'), ['imports'], report, 'fold')
  const data = (imports.list('data') ?? []).map((one, index): DataImport => {
    const path = ['imports', 'data', index]
    const entry = readFields(one, path, report, 'fold')
    for (const key of ['secretRef', 'configMapRef'])
      if (entry.raw(key) !== undefined) report([...path, key], 'is for root installations; expected dataRef')
    return { name: required(entry, 'name', path, report), dataRef: required(entry, 'dataRef', path, report) }
  })
  const targets = (imports.list('targets') ?? []).map((one, index): TargetImport => {
    const path = ['imports', 'targets', index]
    const entry = readFields(one, path, report, 'fold')
    const target = entry.text('target')
    const targetListRef = entry.text('targetListRef')
    const targetMapRef = entry.text('targetMapRef')
    return {
      name: required(entry, 'name', path, report),
      ...present('target', target === '' ? undefined : target),
      ...present('targets', entry.texts('targets')),
      ...present('targetListRef', targetListRef === '' ? undefined : targetListRef),
      ...present('targetMap', entry.textMap('targetMap')),
      ...present('targetMapRef', targetMapRef === '' ? undefined : targetMapRef),
    }
  })
  return { data, targets }
}

function exportsOf(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['exports'] {
  const exports = readFields(fields.fields('exports'), ['exports'], report, 'fold')
  const entries = <Ref extends 'dataRef' | 'target'>(list: string, ref: Ref) =>
    (exports.list(list) ?? []).map((one, index) => {
      const path = ['exports', list, index]
      const entry = readFields(one, path, report, 'fold')
      const found = { name: required(entry, 'name', path, report), [ref]: required(entry, ref, path, report) }
      return found as { readonly name: string } & Readonly<Record<Ref, string>>
    })
  return { data: entries('data', 'dataRef'), targets: entries('targets', 'target') }
}

function optimizationOf(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['optimization'] {
  const found = fields.fields('optimization')
  if (!isFields(found)) return undefined
  const flags = readFields(found, ['optimization'], report, 'fold')
  return {
    ...present('hasNoSiblingImports', flags.flag('hasNoSiblingImports')),
    ...present('hasNoSiblingExports', flags.flag('hasNoSiblingExports')),
  }
}

function required(fields: FieldReader, key: string, path: readonly (string | number)[], report: ReportProblem): string {
  const text = fields.text(key) ?? ''
  if (text === '') report(path, `found no ${key}, expected one`)
  return text
}
