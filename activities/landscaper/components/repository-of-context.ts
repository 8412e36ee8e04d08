// Opens the repository that a Context, an Installation or an inline component names: a local folder or archive, or an OCI registry. It is opened on
// first use, because an inline component without references needs none. Source: spec/landscaper.md 1.2, 1.7.

import { LOCAL_ACCESS, OCI_ACCESS } from '../access-types.ts'
import { BlueprintError } from '../render/render-errors.ts'
import { titleOfComponent, type Component } from '../render/blueprint/component-descriptor.ts'
import type { ResolvedResource, ResourceContent } from '../render/blueprint/component-scope.ts'
import { typeName, type Fields } from '../render/field-reader.ts'
import type { ComponentData, ComponentRepository, FoundComponent } from './component-repository.ts'
import { CTF_TYPES, TransportArchive } from './ctf-repository.ts'
import { LocalComponents } from './local-repository.ts'
import { OCI_CONTEXT_TYPES, readOciContext, readOciNames } from './oci-names.ts'
import { OciComponents, ociContentOf } from './oci-repository.ts'
import type { RegistryReader } from './registries.ts'
import { RegistryFolder } from './registry-folder.ts'
import { isFields } from '../../../workflows/kit/index.ts'

export interface RepositorySource {
  /** The repository context of the Context. */
  readonly repositoryContext: unknown
  /** The Context's name, for messages. */
  readonly context: string
  /** The operator's folder for repositories of type local. */
  readonly registryFolder: string | undefined
  /** Registries with the credentials of the Context and the signal of the current call. */
  readonly registries: () => Promise<RegistryReader>
}

export interface NamedRepository {
  /** The repository context of the Installation or of the inline component; undefined if it has none. */
  readonly named: unknown
  /** The field of `named`, for messages. */
  readonly field: string
}

const LOCAL_TYPES = ['local', 'ComponentArchive']
export class RepositoryOfContext {
  readonly #source: RepositorySource
  readonly #data: ComponentData
  readonly #named: unknown
  readonly #place: string
  #repository: Promise<ComponentRepository> | undefined

  constructor(data: ComponentData, source: RepositorySource, { named, field }: NamedRepository) {
    this.#data = data
    this.#source = source
    this.#named = named
    this.#place = named === undefined ? `Context "${source.context}": repositoryContext` : field
  }

  /** The repository context as the user wrote it; undefined if the object has no repository context. */
  get repositoryContext(): unknown {
    return this.#named ?? this.#source.repositoryContext
  }

  async find({ name, version }: Pick<Component, 'name' | 'version'>, place: string): Promise<FoundComponent> {
    return await (await this.#opened()).find(name, version, place)
  }

  referenceTo({ name, version }: Component): Fields {
    const repositoryContext = this.#named
    return { ...(repositoryContext !== undefined && { repositoryContext }), componentName: name, version }
  }

  async contentOf(found: ResolvedResource, folder: string | undefined): Promise<ResourceContent> {
    const { component, resource } = found
    const place = `resource "${resource.name}" of component "${titleOfComponent(component)}"`
    const type = typeof resource.access['type'] === 'string' ? withoutVersion(resource.access['type']) : ''
    if (LOCAL_ACCESS.includes(type)) return await (await this.#opened()).localContentOf(found, folder)
    const field = Object.hasOwn(OCI_ACCESS, type) ? OCI_ACCESS[type] : undefined
    if (field === undefined) {
      const expected = `expected ${[...LOCAL_ACCESS, ...Object.keys(OCI_ACCESS)].join(', ')}: others are not supported yet`
      throw notSupported(`${place}: access.type: found ${JSON.stringify(type.slice(0, 100))}; ${expected}`)
    }
    const reference = resource.access[field]
    if (typeof reference !== 'string' || reference === '')
      throw invalid(`${place}: access.${field}: found ${typeName(reference)}; expected text`)
    return await ociContentOf(await this.#source.registries(), found, reference)
  }

  #opened(): Promise<ComponentRepository> {
    const opening = (this.#repository ??= this.#open())
    // A failed opening is repeated.
    opening.catch(() => (this.#repository = undefined))
    return opening
  }

  async #open(): Promise<ComponentRepository> {
    const context = this.#context()
    const type = typeof context['type'] === 'string' ? withoutVersion(context['type']) : ''
    if (LOCAL_TYPES.includes(type)) return await this.#openFolder(context)
    if (CTF_TYPES.includes(type)) return await this.#openArchive(context)
    if (OCI_CONTEXT_TYPES.includes(type)) {
      const registry = readOciContext(context, this.#place)
      return new OciComponents(registry, this.#source.registries, this.#data)
    }
    const found = `${this.#place}.type: found ${JSON.stringify(type.slice(0, 100))}`
    throw notSupported(`${found}; expected OCIRegistry, CommonTransportFormat or local: others are not supported yet`)
  }

  async #openFolder(context: Fields): Promise<ComponentRepository> {
    const { folder, path } = await this.#folderOf(context)
    return new LocalComponents(folder, path, this.#data)
  }

  async #openArchive(context: Fields): Promise<ComponentRepository> {
    const names = readOciNames(context, this.#place)
    const { folder, path } = await this.#folderOf(context)
    const archive = await TransportArchive.open(folder, path, this.#place)
    return new OciComponents({ origin: path, ...names }, () => Promise.resolve(archive), this.#data)
  }

  async #folderOf(context: Fields): Promise<{ readonly folder: RegistryFolder; readonly path: string }> {
    const { registryFolder } = this.#source
    const { type, filePath: path = context['baseUrl'] ?? '' } = context
    if (typeof path !== 'string') throw invalid(`${this.#place}.filePath: found ${typeName(path)}; expected text`)
    if (registryFolder !== undefined) return { folder: await RegistryFolder.open(registryFolder), path }
    throw notSupported(
      `${this.#place}: found type ${typeof type === 'string' ? type : ''}, but the worker has no folder of components; start it with --registry-local`,
    )
  }

  #context(): Fields {
    const { context } = this.#source
    const found = this.repositoryContext
    if (found === undefined || found === null)
      throw invalid(
        `spec.componentDescriptor: repositoryContext is missing, also in Context "${context}"; add it to one of them`,
      )
    if (!isFields(found)) throw invalid(`${this.#place}: found ${typeName(found)}; expected a map`)
    return found
  }
}

/** `localBlob/v1` becomes `localBlob`. */
function withoutVersion(type: string): string {
  return type.replace(/\/v\d+\w*$/, '')
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}

function notSupported(message: string): BlueprintError {
  return new BlueprintError('NotSupported', message)
}
