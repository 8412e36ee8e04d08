// The component version that an Installation names, and all that it refers to: read once for a job. Source: spec/landscaper.md 1.2, 1.7, 2.5, 3.6.
//
//   C1. References are followed to their end, each component once; a ring of them is told with its path, and so is one component too many.

import { BlueprintError } from '../render/blueprint-error.ts'
import {
  readComponent,
  titleOfComponent,
  type Component,
  type ComponentReference,
} from '../render/component-descriptor.ts'
import type { ComponentScope, FoundResource } from '../render/component-scope.ts'
import { isFields, readFields, typeName, type Fields } from '../render/field-reader.ts'
import { LocalDescriptors, readBlob, type DescriptorData, type FoundComponent } from './local-repository.ts'
import { RegistryFolder } from './registry-folder.ts'

export interface ComponentSource {
  /** The Installation's `spec.componentDescriptor`. */
  readonly definition: Fields
  /** That of the Context. */
  readonly repositoryContext: unknown
  /** The Context's name, for messages. */
  readonly context: string
  /** The folder that the operator has given for repositories of type local. */
  readonly registryFolder: string | undefined
}

/** C1 */
export const MOST_COMPONENTS = 500
const PLACE = 'spec.componentDescriptor'
const LOCAL_TYPES = ['local', 'ComponentArchive']

/** @throws BlueprintError: field, found and expected. */
export async function resolveComponents(data: DescriptorData, source: ComponentSource): Promise<ComponentScope> {
  const fields = readFields(
    source.definition,
    ['spec', 'componentDescriptor'],
    (_, problem) => refuse(`${PLACE}: ${problem}`),
    'exact',
  )
  const [ref, inline] = [fields.fields('ref'), fields.raw('inline')]
  if ((ref === undefined) === (inline === undefined))
    refuse(
      `${PLACE}: found ${ref === undefined ? 'neither ref nor inline' : 'both ref and inline'}, expected one of them`,
    )
  const own = inline === undefined ? undefined : readComponent(inline, `${PLACE}.inline`)
  const repository = new LazyRepository(
    data,
    source,
    own === undefined
      ? { named: ref?.['repositoryContext'], field: `${PLACE}.ref.repositoryContext` }
      : { named: own.repositoryContexts.at(-1), field: `${PLACE}.inline, its last repositoryContext` },
  )
  const walk = new Walk(repository)
  const root =
    own === undefined
      ? await repository.find(namesIn(ref ?? {}), `${PLACE}.ref`)
      : { component: own, folder: undefined }
  await walk.from(root)
  return walk.scope(source.definition, own !== undefined)
}

function namesIn(ref: Fields): { readonly name: string; readonly version: string } {
  const { componentName: name, version } = ref
  if (typeof name !== 'string' || name === '') refuse(`${PLACE}.ref: found no componentName, expected one`)
  if (typeof version !== 'string' || version === '') refuse(`${PLACE}.ref: found no version, expected one`)
  return { name, version }
}

interface Visited {
  readonly component: Component
  /** Where its blobs lie; undefined: only in the repository's own folder. */
  readonly folder: string | undefined
}

class Walk {
  readonly #repository: LazyRepository
  readonly #visited = new Map<string, Visited>()
  readonly #inline = new Set<Component>()

  constructor(repository: LazyRepository) {
    this.#repository = repository
  }

  /** @param path of components that led here. */
  async from(next: Visited, path: readonly string[] = []): Promise<void> {
    const title = titleOfComponent(next.component)
    this.#visited.set(title, next)
    if (this.#visited.size > MOST_COMPONENTS)
      refuse(`${PLACE}: found more than ${MOST_COMPONENTS} components that it refers to, expected fewer`)
    const here = [...path, title]
    for (const reference of next.component.references) {
      const wanted = titleOfComponent({ name: reference.componentName, version: reference.version })
      if (here.includes(wanted))
        refuse(`${PLACE}: components refer to each other: ${ring(here, wanted)}; expected no ring`)
      if (!this.#visited.has(wanted)) await this.from(await this.#referred(reference), here)
    }
  }

  async #referred(reference: ComponentReference): Promise<Visited> {
    const { inline, place, componentName: name, version } = reference
    if (inline === undefined) return await this.#repository.find({ name, version }, place)
    const component = readComponent(inline, `${place}.labels`)
    this.#inline.add(component)
    const title = titleOfComponent(component)
    const wanted = titleOfComponent({ name, version })
    if (title !== wanted) refuse(`${place}.labels: found the descriptor of ${title}, expected that of ${wanted}`)
    return { component, folder: undefined }
  }

  scope(definition: Fields, isInline: boolean): ComponentScope {
    const [first, ...rest] = [...this.#visited.values()].map(({ component }) => component)
    if (first === undefined) throw new Error('a component was resolved without itself')
    if (isInline) this.#inline.add(first)
    const places = new Map([...this.#visited.values()].map((one) => [one.component, one]))
    const [repository, inline] = [this.#repository, this.#inline]
    return {
      ...{ source: definition, own: first, all: [first, ...rest] },
      definitionOf: (component) =>
        inline.has(component) ? { inline: component.document } : { ref: repository.referenceTo(component) },
      contentOf: (found) => repository.contentOf(found, places.get(found.component)?.folder),
    }
  }
}

/** `a:1 -> b:1 -> a:1`, without what led to it. */
function ring(path: readonly string[], wanted: string): string {
  return [...path.slice(path.indexOf(wanted)), wanted].join(' -> ')
}

interface NamedRepository {
  /** By the Installation or the component in place itself; undefined: by neither. */
  readonly named: unknown
  /** Where, for messages. */
  readonly field: string
}

/** The repository is looked for when something is wanted from it: a component in place needs none as long as it refers to none. */
class LazyRepository {
  readonly #source: ComponentSource
  readonly #data: DescriptorData
  /** The repository that the Installation or the component in place names itself. */
  readonly #named: unknown
  readonly #place: string
  #descriptors: LocalDescriptors | undefined

  constructor(data: DescriptorData, source: ComponentSource, { named, field }: NamedRepository) {
    this.#data = data
    this.#source = source
    this.#named = named
    this.#place = named === undefined ? `repositoryContext of context ${source.context}` : field
  }

  async find({ name, version }: Pick<Component, 'name' | 'version'>, place: string): Promise<FoundComponent> {
    this.#descriptors ??= new LocalDescriptors(await this.#folder(), this.#path(), this.#data)
    return await this.#descriptors.find(name, version, place)
  }

  referenceTo({ name, version }: Component): Fields {
    const repositoryContext = this.#named
    return { ...(repositoryContext !== undefined && { repositoryContext }), componentName: name, version }
  }

  async contentOf({ component, resource }: FoundResource, own: string | undefined) {
    const place = `resource ${resource.name} of component ${titleOfComponent(component)}`
    const blob = localBlobOf(resource.access, place)
    const folder = await this.#folder()
    const folders = [...(own === undefined ? [] : [own]), this.#path()]
    return await readBlob(folder, folders, { ...blob, place: `${place}, ${blob.reference}` })
  }

  async #folder(): Promise<RegistryFolder> {
    this.#path()
    const { registryFolder } = this.#source
    if (registryFolder !== undefined) return await RegistryFolder.open(registryFolder)
    throw notSupported(
      `${this.#place}: found type local, but the worker has no folder of components; expected --registry-local`,
    )
  }

  /** Of the repository in the operator's folder. */
  #path(): string {
    const context = this.#named ?? this.#source.repositoryContext
    if (context === undefined || context === null)
      refuse(`${PLACE}: found no repositoryContext, neither there nor in context ${this.#source.context}; expected one`)
    if (!isFields(context)) refuse(`${this.#place}: found ${typeName(context)}, expected a map`)
    const type = typeof context['type'] === 'string' ? context['type'] : ''
    if (!LOCAL_TYPES.includes(withoutVersion(type))) {
      const found = `${this.#place}.type: found ${JSON.stringify(type.slice(0, 100))}`
      throw notSupported(`${found}, expected local: components in OCI registries are not supported yet`)
    }
    const path = context['filePath'] ?? context['baseUrl'] ?? ''
    if (typeof path !== 'string') refuse(`${this.#place}.filePath: found ${typeName(path)}, expected text`)
    return path
  }
}

function localBlobOf(access: Fields, place: string): { readonly reference: string; readonly mediaType: string } {
  const type = typeof access['type'] === 'string' ? withoutVersion(access['type']) : ''
  const key = { localBlob: 'localReference', localFilesystemBlob: 'filename' }[type]
  if (key === undefined) {
    const found = `${place}: access.type: found ${JSON.stringify(type.slice(0, 100))}`
    throw notSupported(`${found}, expected localBlob or localFilesystemBlob: others are not supported yet`)
  }
  const [reference, mediaType] = [access[key], access['mediaType'] ?? '']
  if (typeof reference !== 'string' || reference === '')
    refuse(`${place}: access.${key}: found no text, expected the name of a blob`)
  if (typeof mediaType !== 'string') refuse(`${place}: access.mediaType: found ${typeName(mediaType)}, expected text`)
  return { reference, mediaType }
}

/** `localBlob/v1` is `localBlob`. */
function withoutVersion(type: string): string {
  return type.replace(/\/v\d+\w*$/, '')
}

function refuse(message: string): never {
  throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

function notSupported(message: string): BlueprintError {
  return new BlueprintError('NotSupported', message)
}
