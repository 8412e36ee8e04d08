// The component version that an Installation is of, with all that it refers to: what templates see of it, and how a URI leads through it.
// Source: spec/landscaper.md 3.2, 3.6, 3.11.

import { BlueprintError } from './blueprint-error.ts'
import {
  SCHEMA_V2,
  SCHEMA_V3,
  titleOfComponent,
  type Component,
  type ComponentReference,
  type ComponentResource,
  type SchemaVersion,
} from './component-descriptor.ts'
import { documentIn } from './component-document.ts'
import { decoded } from './decoded.ts'
import type { Fields } from './field-reader.ts'

export interface ComponentScope {
  /** The Installation's `spec.componentDescriptor`; templates see it as `componentDescriptorDef`. */
  readonly source: unknown
  readonly own: Component
  /** Itself first, then all that it refers to, directly or not; each once. */
  readonly all: readonly Component[]
  /** What ComponentVersionOverwrites have replaced, in words. */
  readonly replaced: readonly string[]
  /** The `spec.componentDescriptor` of a sub-installation whose blueprint lies in one of them. */
  definitionOf(component: Component): Fields
  /** @throws BlueprintError when there is none, or it cannot be read. */
  contentOf(found: FoundResource): Promise<ResourceContent>
}

/** Of a resource: one file, also the only layer of an artefact with this manifest, or a folder, whose paths are as in BlueprintFiles. */
export type ResourceContent =
  | { readonly bytes: Buffer; readonly mediaType: string; readonly manifest?: Buffer }
  | { readonly folder: Readonly<Record<string, Buffer>> }

export interface FoundResource {
  readonly component: Component
  readonly resource: ComponentResource
}

/** Source: spec/landscaper.md 3.2. */
const SCHEMA_ANNOTATION = 'ocmSchemaVersion'
/** Source: spec/landscaper.md 3.11. */
const MOST_URI = 2083

/** @throws BlueprintError when the blueprint wants a schema that there is not. */
export function templateSchema(annotations: Fields, own: Component): SchemaVersion {
  const wanted = annotations[SCHEMA_ANNOTATION] ?? own.schemaVersion
  if (wanted === SCHEMA_V2 || wanted === SCHEMA_V3) return wanted
  const found = typeof wanted === 'string' ? JSON.stringify(wanted.slice(0, 100)) : `no text`
  throw invalid(
    `blueprint.yaml, annotations.${SCHEMA_ANNOTATION}: found ${found}, expected ${SCHEMA_V2} or ${SCHEMA_V3}`,
  )
}

/** What templates see of the component; nothing where there is none. */
export function componentBinding(scope: ComponentScope | undefined, annotations: Fields): Fields {
  if (scope === undefined) return {}
  const schema = templateSchema(annotations, scope.own)
  const components = scope.all.map((one) => documentIn(one, schema))
  return {
    cd: documentIn(scope.own, schema),
    components: { meta: { schemaVersion: SCHEMA_V2 }, components },
    componentDescriptorDef: scope.source,
  }
}

/**
 * Follows `cd://componentReferences/NAME/.../resources/NAME`.
 *
 * @param from the title of the component of the scope where it begins; empty: the one that the blueprint is of.
 * @throws BlueprintError that names the URI, the component at which it ends, and what was expected.
 */
export function resourceAt(scope: ComponentScope, uri: string, from = ''): FoundResource {
  const steps = stepsOf(uri)
  let component = from === '' ? scope.own : (scope.all.find((one) => titleOfComponent(one) === from) ?? scope.own)
  for (const [index, [keyword, name]] of steps.entries()) {
    if (keyword === 'resources' && index === steps.length - 1)
      return { component, resource: resourceNamed(component, name, uri) }
    if (keyword !== 'componentReferences')
      throw invalid(`${shown(uri)}: found ${keyword}, expected componentReferences, and resources at the end`)
    component = componentOf(scope, referenceNamed(component, name, uri))
  }
  throw invalid(`${shown(uri)}: leads to a component, expected resources/NAME at the end`)
}

/** @param from what names it, for messages. */
export function resourceNamed(component: Component, name: string, from: string): ComponentResource {
  const found = component.resources.find((one) => one.name === name)
  if (found !== undefined) return found
  const known = component.resources.map((one) => one.name)
  throw notFound(
    `${shown(from)}: component ${titleOfComponent(component)} has no resource ${shown(name)}${among(known)}`,
  )
}

/** The component that a reference of the scope leads to: all of them were resolved. */
function componentOf({ all }: ComponentScope, { componentName, version, place }: ComponentReference): Component {
  const found = all.find((one) => one.name === componentName && one.version === version)
  if (found === undefined) throw new Error(`${place}: component ${componentName}:${version} was not resolved`)
  return found
}

function referenceNamed(component: Component, name: string, uri: string): ComponentReference {
  const found = component.references.find((one) => one.name === name)
  if (found !== undefined) return found
  const known = component.references.map((one) => one.name)
  throw notFound(
    `${shown(uri)}: component ${titleOfComponent(component)} has no component reference ${shown(name)}${among(known)}`,
  )
}

function stepsOf(uri: string): readonly (readonly [keyword: string, name: string])[] {
  if (uri.length > MOST_URI)
    throw invalid(`a URI of a component: found ${uri.length} characters, expected at most ${MOST_URI}`)
  const [, path = ''] = /^cd:\/\/([^#?]*)$/.exec(uri) ?? []
  const parts = path.split('/').filter((part) => part !== '')
  if (parts.length === 0 || parts.length % 2 !== 0)
    throw invalid(`${shown(uri)}: expected cd://componentReferences/NAME/resources/NAME, or cd://resources/NAME`)
  return parts.flatMap((part, index) => (index % 2 === 0 ? [[part, decoded(parts[index + 1] ?? '')] as const] : []))
}

const MOST_LISTED = 5

function among(names: readonly string[]): string {
  const more = names.length > MOST_LISTED ? ` and ${names.length - MOST_LISTED} more` : ''
  return names.length === 0 ? '; it has none' : `; it has ${names.slice(0, MOST_LISTED).join(', ')}${more}`
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
