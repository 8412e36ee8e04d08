// Reads a blueprint: its files, its definition (blueprint.yaml), and its component version.

import { BlueprintError } from '../render-errors.ts'
import { DEFINITION_FILE, type BlueprintDefinition } from './blueprint-definition.ts'
import { readInlineFiles, type BlueprintFiles } from './blueprint-files.ts'
import { findResource, type ComponentScope } from './component-scope.ts'
import { titleOfComponent } from './component-descriptor.ts'
import { toFileContent, isText, notTextProblem } from '../file-content.ts'
import { typeName, type Fields } from '../field-reader.ts'
import { joinNames, isFields } from '../../../../workflows/kit/index.ts'

export type { ExportDefinition, TemplateExecutor } from './blueprint-definition.ts'

export interface Blueprint extends BlueprintDefinition {
  readonly files: BlueprintFiles
  /** Absent if the Installation has no component. */
  readonly component?: ComponentScope
}

/** Parsers for the texts of a blueprint, see bounded/tenant-data.ts. */
export interface InlineBlueprintData {
  /** @throws YamlError */
  yaml(text: string, place?: string): Promise<unknown>
  /** @throws BlueprintError */
  definition(text: string): Promise<BlueprintDefinition>
}

export interface BlueprintData extends InlineBlueprintData {
  /** @throws BlueprintError whose message continues "NAME: " */
  archive(packed: Buffer): Promise<BlueprintFiles>
}

/** Source: spec/landscaper.md 3.1. */
const RESOURCE_TYPES = ['landscaper.gardener.cloud/blueprint', 'blueprint']

/**
 * Reads the `spec.blueprint` of an Installation.
 *
 * @throws BlueprintError `ComponentNotFound`; `NotSupported` if Pawl does not implement it, otherwise `ERR_CONFIGURATION_PROBLEM` with all problems
 * and their lines.
 */
export async function readBlueprint(
  data: BlueprintData,
  spec: unknown,
  component?: ComponentScope,
): Promise<Blueprint> {
  const ref = isFields(spec) ? spec['ref'] : undefined
  if (!isFields(ref)) {
    const blueprint = await readInlineBlueprint(data, spec)
    return component === undefined ? blueprint : { ...blueprint, component }
  }
  const files = await filesOfResource(data, ref, component)
  const place = `spec.blueprint.ref, resource "${String(ref['resourceName'])}"`
  return { ...(await createBlueprint(data, files, place)), ...(component !== undefined && { component }) }
}

/** Reads an inline blueprint without a component. @throws BlueprintError */
export async function readInlineBlueprint(data: InlineBlueprintData, spec: unknown): Promise<Blueprint> {
  if (!isFields(spec)) throw invalid(`spec.blueprint: found ${typeName(spec)}; expected inline or ref`)
  const { inline } = spec
  if (!isFields(inline)) throw invalid(`spec.blueprint.inline: found ${typeName(inline)}; expected a map`)
  const files = await readInlineFiles(data, inline['filesystem'])
  return await createBlueprint(data, files, 'spec.blueprint.inline.filesystem')
}

async function createBlueprint(data: InlineBlueprintData, files: BlueprintFiles, place: string): Promise<Blueprint> {
  const text = files[DEFINITION_FILE]
  if (text === undefined) throw invalid(`${place}: "${DEFINITION_FILE}" is missing${listFileNames(files)}; add it`)
  if (!isText(text)) throw invalid(`${place}, ${DEFINITION_FILE}: ${notTextProblem(text)}`)
  return { files, ...(await data.definition(text)) }
}

async function filesOfResource(
  data: BlueprintData,
  ref: Fields,
  component: ComponentScope | undefined,
): Promise<BlueprintFiles> {
  const place = 'spec.blueprint.ref'
  if (component === undefined)
    throw invalid(`${place}: spec.componentDescriptor is missing; set it to the component that has the resource`)
  const name = ref['resourceName']
  if (typeof name !== 'string' || name === '')
    throw invalid(`${place}.resourceName: found ${typeName(name)}; expected text`)
  const resource = findResource(component.own, name, `${place}.resourceName`)
  if (!RESOURCE_TYPES.includes(resource.type)) {
    const where = `${place}.resourceName: resource "${name}" of component "${titleOfComponent(component.own)}"`
    throw invalid(`${where}: type: found "${resource.type}"; expected "${RESOURCE_TYPES[0] ?? ''}"`)
  }
  const content = await component.readContent({ component: component.own, resource })
  if ('folder' in content)
    return Object.fromEntries(Object.entries(content.folder).map(([path, bytes]) => [path, toFileContent(bytes)]))
  try {
    return await data.archive(content.bytes)
  } catch (error) {
    if (!(error instanceof BlueprintError)) throw error
    throw new BlueprintError(error.code, `${place}, resource "${name}": ${error.message}`, { cause: error })
  }
}

const MAX_LISTED = 5

/** The names of the other files, for an author who has mistyped one. */
function listFileNames(files: BlueprintFiles): string {
  const paths = Object.keys(files)
  return paths.length === 0 ? '' : ` (found: ${joinNames(paths, MAX_LISTED)})`
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
