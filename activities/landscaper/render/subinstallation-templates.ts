// Reads one template of a sub-installation, leniently, and converts it to the spec of an Installation. Source: spec/landscaper.md 2.5, 3.5.

import { type JsonValue, findCycle, type Problem, isFields } from '../../../workflows/kit/index.ts'
import type { Installation } from '../../../workflows/landscaper/installation/kind.ts'
import { BlueprintError } from './render-errors.ts'
import { resolveResource, type ComponentScope } from './blueprint/component-scope.ts'
import { printPath, readFields, type FieldReader, type Fields, type ReportProblem } from './field-reader.ts'
import { formatCycle } from '../../../workflows/landscaper/item-rules.ts'
import {
  type Blueprint,
  type BlueprintData,
  type InlineBlueprintData,
  readInlineBlueprint,
} from './blueprint/blueprint.ts'
import { flowGraph } from '../../../workflows/landscaper/data-flow.ts'
import { isText, notTextProblem } from './file-content.ts'
import { YamlError } from '../../yaml/read-yaml.ts'

type InstallationSpec = Installation['spec']
type Imports = NonNullable<InstallationSpec['imports']>
type Exports = NonNullable<InstallationSpec['exports']>
export type DataImport = NonNullable<Imports['data']>[number]
export type TargetImport = NonNullable<Imports['targets']>[number]
type TargetExport = Required<NonNullable<Exports['targets']>[number]>

/** The content of a template in the fields of an Installation. */
export interface SubinstallationTemplate {
  readonly name: string
  readonly blueprint: InstallationSpec['blueprint']
  /** The component of the blueprint; absent if it is the parent's. */
  readonly componentDescriptor?: InstallationSpec['componentDescriptor']
  readonly imports: { readonly data: readonly DataImport[]; readonly targets: readonly TargetImport[] }
  readonly exports: { readonly data: NonNullable<Exports['data']>; readonly targets: readonly TargetExport[] }
  readonly importDataMappings?: Fields
  readonly exportDataMappings?: Fields
  readonly optimization?: NonNullable<InstallationSpec['optimization']>
}

/** The object's name starts with the template's name. Source: spec/landscaper.md 5.3. */
export const MAX_TEMPLATE_NAME_LENGTH = 52
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
const KIND = 'InstallationTemplate'
const API_VERSION = 'landscaper.gardener.cloud/v1alpha1'

export interface TemplateOrigin {
  /** The path of the template, for messages. */
  readonly place: string
  /** The component of the parent's blueprint; references to blueprints are relative to it. */
  readonly component: ComponentScope | undefined
}

export function readTemplate(
  value: unknown,
  { place, component }: TemplateOrigin,
  problems: string[],
): SubinstallationTemplate {
  const report: ReportProblem = (path, problem) =>
    problems.push([place, ...(path.length === 0 ? [] : [printPath(path)])].join(': ') + `: ${problem}`)
  const fields = readFields(value, [], report, 'fold')
  checkKind(fields, report)
  return {
    name: nameOf(fields, report),
    ...readTemplateBlueprint(fields, component, report),
    imports: readImports(fields, report),
    exports: readExports(fields, report),
    ...present('importDataMappings', fields.fields('importDataMappings')),
    ...present('exportDataMappings', fields.fields('exportDataMappings')),
    ...present('optimization', readOptimization(fields, report)),
  }
}

function present<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>)
}

// Inline templates may omit both; Landscaper requires them in rendered ones only.
function checkKind(fields: FieldReader, report: ReportProblem): void {
  const kind = fields.text('kind') ?? KIND
  if (kind !== KIND) report(['kind'], `found "${kind}"; expected "${KIND}"`)
  const version = fields.text('apiVersion') ?? API_VERSION
  if (version !== API_VERSION) report(['apiVersion'], `found "${version}"; expected "${API_VERSION}"`)
}

function nameOf(fields: FieldReader, report: ReportProblem): string {
  const name = fields.text('name') ?? ''
  if (name === '') report([], 'name is missing; add it')
  else if (name.length > MAX_TEMPLATE_NAME_LENGTH)
    report(['name'], `found ${name.length} characters; expected at most ${MAX_TEMPLATE_NAME_LENGTH}`)
  else if (!DNS_LABEL.test(name))
    report(['name'], 'found invalid characters; expected lower-case letters and digits, with dashes between them')
  return name
}

type TemplateBlueprint = Pick<SubinstallationTemplate, 'blueprint' | 'componentDescriptor'>

function readTemplateBlueprint(
  fields: FieldReader,
  component: ComponentScope | undefined,
  report: ReportProblem,
): TemplateBlueprint {
  const blueprint = readFields(fields.fields('blueprint'), ['blueprint'], report, 'fold')
  const ref = blueprint.text('ref') ?? ''
  const filesystem = blueprint.raw('filesystem')
  if ((ref === '') === (filesystem === undefined)) {
    const isNone = ref === ''
    report(
      ['blueprint'],
      isNone ? 'ref and filesystem are missing; set one of them' : 'found both ref and filesystem; remove one of them',
    )
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
    return say('the installation has no spec.componentDescriptor; set it to the component that has the resource')
  try {
    const found = resolveResource(component, ref.startsWith('cd://') ? ref : `cd://${ref}`)
    const definition = component.definitionOf(found.component) as InstallationSpec['componentDescriptor']
    return { blueprint: { ref: { resourceName: found.resource.name } }, componentDescriptor: definition }
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    return say(error.message)
  }
}

function readImports(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['imports'] {
  const imports = readFields(fields.fields('imports'), ['imports'], report, 'fold')
  const data = (imports.list('data') ?? []).map((one, index): DataImport => {
    const path = ['imports', 'data', index]
    const entry = readFields(one, path, report, 'fold')
    for (const key of ['secretRef', 'configMapRef'])
      if (entry.raw(key) !== undefined) report([...path, key], 'only root installations may import it; use dataRef')
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

function readExports(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['exports'] {
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

function readOptimization(fields: FieldReader, report: ReportProblem): SubinstallationTemplate['optimization'] {
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
  if (text === '') report(path, `${key} is missing; add it`)
  return text
}

// Reads the sub-installations that a blueprint lists, inline or as files, and finds cycles among them without rendering templates. Source:
// spec/landscaper.md 2.5, 3.5.

/** @param problems receives the problems of the templates. */
export async function readListedTemplates(
  data: Pick<BlueprintData, 'yaml'>,
  { subinstallations, files, component }: Pick<Blueprint, 'subinstallations' | 'files' | 'component'>,
  problems: string[],
): Promise<readonly SubinstallationTemplate[]> {
  const templates: SubinstallationTemplate[] = []
  for (const [index, listed] of subinstallations.entries()) {
    const place = `subinstallations[${index}]`
    const file = isFields(listed) && typeof listed['file'] === 'string' ? listed['file'] : undefined
    const template = file === undefined ? { value: listed } : await readFileOf(data, files, file)
    if ('problem' in template) problems.push(`${place}: ${template.problem}`)
    else {
      const where = file === undefined ? place : `${place} (${file})`
      templates.push(readTemplate(template.value, { place: where, component }, problems))
    }
  }
  return templates
}

async function readFileOf(data: Pick<BlueprintData, 'yaml'>, files: Blueprint['files'], file: string) {
  const path = file.replace(/^\.?\/+/, '')
  const text = Object.hasOwn(files, path) ? files[path] : undefined
  if (text === undefined) return { problem: `file: no file "${file}" in the blueprint; add it or correct the path` }
  if (!isText(text)) return { problem: `${file}: ${notTextProblem(text)}` }
  try {
    return { value: await data.yaml(text, file) }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return { problem: `${file}, line ${error.line}, column ${error.column}: not valid YAML: ${error.message}` }
  }
}

/** Limit for nested sub-installations that are checked. */
const MAX_DEPTH = 10

/**
 * Cycles of data flow among the sub-installations of an inline blueprint, and of theirs. Unreadable blueprints have no cycles: the job reports them
 * when it starts.
 *
 * @param blueprint `spec.blueprint` of an Installation.
 */
export async function listedCycles(data: InlineBlueprintData, blueprint: unknown): Promise<readonly Problem[]> {
  return await cyclesBelow(data, blueprint, [])
}

/** @param parents the names of the enclosing sub-installations. */
async function cyclesBelow(
  data: InlineBlueprintData,
  spec: unknown,
  parents: readonly string[],
): Promise<readonly Problem[]> {
  const blueprint = parents.length > MAX_DEPTH ? undefined : await undefinedOnError(readInlineBlueprint(data, spec))
  if (blueprint === undefined) return []
  const templates = await readListedTemplates(data, blueprint, [])
  const cycle = findCycle(flowGraph(templates))
  const own = cycle === undefined ? [] : [cycleProblem(cycle, parents)]
  const below: Problem[] = []
  for (const { name, blueprint: inner } of templates)
    below.push(...(await cyclesBelow(data, inner, [...parents, name])))
  return [...own, ...below]
}

function cycleProblem(cycle: readonly string[], parents: readonly string[]): Problem {
  const where = parents.length === 0 ? '' : `, in ${formatCycle(parents)}`
  return {
    field: 'spec.blueprint.inline',
    found: `sub-installations that import from each other: ${formatCycle(cycle)}${where}`,
    expected: 'no cycle',
  }
}

async function undefinedOnError<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (error instanceof BlueprintError) return undefined
    throw error
  }
}
