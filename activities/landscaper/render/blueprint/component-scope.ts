// The component version of an Installation with all components that it references: its form in templates, and the resolution of `cd://` URIs. Source:
// spec/landscaper.md 3.2, 3.6, 3.11.

import { BlueprintError } from '../render-errors.ts'
import {
  SCHEMA_V2,
  SCHEMA_V3,
  titleOfComponent,
  type Component,
  type ComponentReference,
  type ComponentResource,
  type SchemaVersion,
  INLINE_DESCRIPTOR_LABEL,
} from './component-descriptor.ts'
import { decodePercent } from '../file-content.ts'
import { type Fields } from '../field-reader.ts'
import { writeJson } from '../../../../workflows/kit/kind/exact-json.ts'
import { joinNames, isFields } from '../../../../workflows/kit/index.ts'

export interface ComponentScope {
  /** The Installation's `spec.componentDescriptor`; templates see it as `componentDescriptorDef`. */
  readonly source: unknown
  readonly own: Component
  /** The component itself, then all directly or indirectly referenced ones; each once. */
  readonly all: readonly Component[]
  /** The replacements by ComponentVersionOverwrites, in words. */
  readonly overwrites: readonly string[]
  /** The `spec.componentDescriptor` of a sub-installation whose blueprint is a resource of the component. */
  definitionOf(component: Component): Fields
  /** @throws BlueprintError when the content does not exist or cannot be read. */
  readContent(found: ResolvedResource): Promise<ResourceContent>
}

/**
 * The content of a resource: one file, which may be the only layer of an artefact with this manifest, or a folder with paths as in BlueprintFiles.
 */
export type ResourceContent =
  | { readonly bytes: Buffer; readonly mediaType: string; readonly manifest?: Buffer }
  | { readonly folder: Readonly<Record<string, Buffer>> }

export interface ResolvedResource {
  readonly component: Component
  readonly resource: ComponentResource
}

/** Source: spec/landscaper.md 3.2. */
const SCHEMA_ANNOTATION = 'ocmSchemaVersion'
/** Source: spec/landscaper.md 3.11. */
const MAX_URI = 2083

/** @throws BlueprintError for an unknown schema version. */
export function templateSchema(annotations: Fields, own: Component): SchemaVersion {
  const wanted = annotations[SCHEMA_ANNOTATION] ?? own.schemaVersion
  if (wanted === SCHEMA_V2 || wanted === SCHEMA_V3) return wanted
  const found = typeof wanted === 'string' ? JSON.stringify(wanted.slice(0, 100)) : `no text`
  throw invalid(
    `blueprint.yaml, annotations.${SCHEMA_ANNOTATION}: found ${found}; expected ${SCHEMA_V2} or ${SCHEMA_V3}`,
  )
}

/** The component in the binding of a template; empty if the Installation has none. */
export function componentBinding(scope: ComponentScope | undefined, annotations: Fields): Fields {
  if (scope === undefined) return {}
  const schema = templateSchema(annotations, scope.own)
  const components = scope.all.map((one) => convertDescriptor(one, schema))
  return {
    cd: convertDescriptor(scope.own, schema),
    components: { meta: { schemaVersion: SCHEMA_V2 }, components },
    componentDescriptorDef: scope.source,
  }
}

/**
 * Resolves `cd://componentReferences/NAME/.../resources/NAME`.
 *
 * @param from the title of the component to which the URI is relative; empty for the blueprint's component.
 * @throws BlueprintError with the URI, the component at which it fails, and the expected form.
 */
export function resolveResource(scope: ComponentScope, uri: string, from = ''): ResolvedResource {
  const steps = stepsOf(uri)
  let component = from === '' ? scope.own : (scope.all.find((one) => titleOfComponent(one) === from) ?? scope.own)
  for (const [index, [keyword, name]] of steps.entries()) {
    if (keyword === 'resources' && index === steps.length - 1)
      return { component, resource: findResource(component, name, uri) }
    if (keyword !== 'componentReferences')
      throw invalid(`${shown(uri)}: found ${keyword}; expected componentReferences, and resources at the end`)
    component = componentOf(scope, findReference(component, name, uri))
  }
  throw invalid(`${shown(uri)}: leads to a component; expected resources/NAME at the end`)
}

/** @param from the URI or field in messages. */
export function findResource(component: Component, name: string, from: string): ComponentResource {
  const found = component.resources.find((one) => one.name === name)
  if (found !== undefined) return found
  const known = component.resources.map((one) => one.name)
  throw notFound(
    `${shown(from)}: component ${titleOfComponent(component)} has no resource ${shown(name)}${availableNames(known)}`,
  )
}

/** The component of a reference of the scope; all of them were resolved. */
function componentOf({ all }: ComponentScope, { componentName, version, place }: ComponentReference): Component {
  const found = all.find((one) => one.name === componentName && one.version === version)
  if (found === undefined) throw new Error(`${place}: component ${componentName}:${version} was not resolved`)
  return found
}

function findReference(component: Component, name: string, uri: string): ComponentReference {
  const found = component.references.find((one) => one.name === name)
  if (found !== undefined) return found
  const known = component.references.map((one) => one.name)
  throw notFound(
    `${shown(uri)}: component ${titleOfComponent(component)} has no component reference ${shown(name)}${availableNames(known)}`,
  )
}

function stepsOf(uri: string): readonly (readonly [keyword: string, name: string])[] {
  if (uri.length > MAX_URI)
    throw invalid(`a URI of a component: found ${uri.length} characters; expected at most ${MAX_URI}`)
  const [, path = ''] = /^cd:\/\/([^#?]*)$/.exec(uri) ?? []
  const parts = path.split('/').filter((part) => part !== '')
  if (parts.length === 0 || parts.length % 2 !== 0)
    throw invalid(`${shown(uri)}: expected cd://componentReferences/NAME/resources/NAME, or cd://resources/NAME`)
  return parts.flatMap((part, index) =>
    index % 2 === 0 ? [[part, decodePercent(parts[index + 1] ?? '')] as const] : [],
  )
}

const MAX_LISTED = 5

function availableNames(names: readonly string[]): string {
  return names.length === 0 ? '; it has none' : `; it has ${joinNames(names, MAX_LISTED)}`
}

function shown(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

function notFound(message: string): BlueprintError {
  return new BlueprintError('ComponentNotFound', message)
}

/**
 * Converts the descriptor to the schema that a template expects. Unknown fields stay at the place that both schemas have. Source: spec/landscaper.md
 * 3.2, 3.6.
 */
export function convertDescriptor({ document, schemaVersion }: Component, wanted: SchemaVersion): Fields {
  if (schemaVersion === wanted) return document
  return wanted === SCHEMA_V2 ? toV2(document) : toV3(document)
}

function toV2({ metadata, repositoryContexts, spec, signatures, nestedDigests }: Fields): Fields {
  const { provider, ...names } = isFields(metadata) ? metadata : {}
  const { resources, sources, references } = isFields(spec) ? spec : {}
  const { name: providerName, ...more } = isFields(provider) ? provider : { name: provider }
  return {
    meta: { schemaVersion: SCHEMA_V2 },
    component: {
      ...names,
      // As the OCM library writes it: a provider with labels is JSON in a text.
      provider: Object.keys(more).length === 0 ? (providerName ?? '') : writeJson(provider),
      repositoryContexts: repositoryContexts ?? [],
      resources: resources ?? [],
      sources: sources ?? [],
      componentReferences: references ?? [],
    },
    ...withoutUndefined({ signatures, nestedDigests }),
  }
}

function toV3({ component, signatures, nestedDigests }: Fields): Fields {
  const { provider, repositoryContexts, resources, sources, componentReferences, ...names } = isFields(component)
    ? component
    : {}
  return {
    apiVersion: SCHEMA_V3,
    kind: 'ComponentVersion',
    metadata: { ...names, provider: providerOf(provider) },
    repositoryContexts: repositoryContexts ?? [],
    spec: { resources: resources ?? [], sources: sources ?? [], references: componentReferences ?? [] },
    ...withoutUndefined({ signatures, nestedDigests }),
  }
}

function providerOf(provider: unknown): Fields {
  if (isFields(provider)) return provider
  const name = typeof provider === 'string' ? provider : ''
  if (!name.startsWith('{')) return { name }
  try {
    const parsed: unknown = JSON.parse(name)
    return isFields(parsed) ? parsed : { name }
  } catch (error) {
    if (error instanceof SyntaxError) return { name }
    throw error
  }
}

function withoutUndefined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

type Names = Pick<ComponentReference, 'componentName' | 'version'>

/** The component with its references replaced by `wanted`, one for each; unchanged if they are equal. */
export function replaceReferences(component: Component, wanted: readonly Names[]): Component {
  const changed = component.references.map((reference, index) => changedNames(reference, wanted[index] ?? reference))
  if (changed.every((names) => names === undefined)) return component
  const references = component.references.map((reference, index) =>
    changed[index] === undefined ? reference : { ...reference, ...changed[index], inline: undefined },
  )
  const rewrite = (list: unknown) =>
    Array.isArray(list)
      ? list.map((one: unknown, index) => (changed[index] === undefined ? one : renameReference(one, changed[index])))
      : list
  return { ...component, references, document: withReferences(component, rewrite) }
}

function changedNames(reference: Names, { componentName, version }: Names): Names | undefined {
  return reference.componentName === componentName && reference.version === version
    ? undefined
    : { componentName, version }
}

function withReferences({ document, schemaVersion }: Component, rewrite: (list: unknown) => unknown): Fields {
  const [part, list] = schemaVersion === SCHEMA_V3 ? ['spec', 'references'] : ['component', 'componentReferences']
  const fields = document[part]
  return isFields(fields) ? { ...document, [part]: { ...fields, [list]: rewrite(fields[list]) } } : document
}

// Digest and descriptor belong to the previously referenced component.
function renameReference(entry: unknown, names: Names): unknown {
  if (!isFields(entry)) return entry
  const { labels } = entry
  const others = Array.isArray(labels)
    ? labels.filter((one: unknown) => !(isFields(one) && one['name'] === INLINE_DESCRIPTOR_LABEL))
    : labels
  return withoutUndefined({ ...entry, ...names, digest: undefined, labels: others })
}
