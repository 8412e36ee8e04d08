// Reads components and artefacts from OCI registries. Source: OCM v0.11.0, ocm/repositories/genericocireg (state.go: location of descriptors,
// componentmapping: media types), ocm/accessmethods/{localblob,localociblob,ociblob,ociartifact,relativeociref}; spec/landscaper.md 3.1.

import { BlueprintError } from '../render/render-errors.ts'
import { readComponent, titleOfComponent } from '../render/blueprint/component-descriptor.ts'
import type { ResolvedResource, ResourceContent } from '../render/blueprint/component-scope.ts'
import { isText, notTextProblem } from '../render/file-content.ts'
import { typeName, type Fields } from '../render/field-reader.ts'
import { YamlError } from '../../yaml/read-yaml.ts'
import type { ComponentRepository, ComponentData, FoundComponent } from './component-repository.ts'
import { MAX_DESCRIPTOR_BYTES, MAX_DESCRIPTORS_BYTES } from './component-repository.ts'
import { isDigest, readOciReference, repositoryOf, tagOf, type OciContext, type OciRepository } from './oci-names.ts'
import { jsonOf, titleOf } from './registry-client.ts'
import type { RegistryReader } from './registries.ts'
import { isFields } from '../../../workflows/kit/index.ts'

const CONFIG_TYPES = [
  'application/vnd.ocm.software.component.config.v1+json',
  'application/vnd.gardener.cloud.cnudie.component.config.v1+json',
  'application/vnd.oci.gardener.cloud.cnudie.component-descriptor-metadata.config.v2+json',
]
const TEXT_TYPES = ['ocm.software', 'gardener.cloud.cnudie'].flatMap((vendor) =>
  ['yaml', 'json'].map((form) => `application/vnd.${vendor}.component-descriptor.v2+${form}`),
)
const TAR_TYPES = [
  'application/vnd.ocm.software.component-descriptor.v2+yaml+tar',
  'application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar',
  'application/vnd.oci.gardener.cloud.cnudie.component-descriptor.config.v2+yaml+tar',
]
const DESCRIPTOR_FILE = 'component-descriptor.yaml'
const MAX_CONFIG_BYTES = 64 * 1024
/** The headers and final zeros of a tar archive add to the descriptor. */
const MAX_LAYER_BYTES = MAX_DESCRIPTOR_BYTES + 64 * 1024

export class OciComponents implements ComponentRepository {
  readonly #context: OciContext
  /** A reader with the credentials and signal of the current call. */
  readonly #reader: () => Promise<RegistryReader>
  readonly #data: ComponentData
  #bytes = 0

  constructor(context: OciContext, reader: () => Promise<RegistryReader>, data: ComponentData) {
    this.#context = context
    this.#reader = reader
    this.#data = data
  }

  async find(name: string, version: string, place: string): Promise<FoundComponent> {
    const repository = repositoryOf(this.#context, name)
    const reference = tagOf(version)
    const at = `${place}: ${titleOf({ repository, reference })}`
    const text = await withPlace(place, () => this.#text(repository, reference, at))
    this.#bytes += text.length
    if (this.#bytes > MAX_DESCRIPTORS_BYTES)
      throw invalid(`${at}: found more than ${MAX_DESCRIPTORS_BYTES} bytes of component descriptors; expected fewer`)
    const component = readComponent(await this.#yaml(text, at), at)
    const [found, wanted] = [titleOfComponent(component), titleOfComponent({ name, version })]
    if (found === wanted) return { component, folder: undefined }
    throw new BlueprintError(
      'UntrustedContent',
      `${at}: found the descriptor of "${found}"; expected the descriptor of "${wanted}"`,
    )
  }

  /** For a resource that is stored in the component's own repository. */
  async localContentOf({ component, resource }: ResolvedResource): Promise<ResourceContent> {
    const { access } = resource
    const place = `resource "${resource.name}" of component "${titleOfComponent(component)}"`
    const key = 'digest' in access && !('localReference' in access) ? 'digest' : 'localReference'
    const digest = access[key]
    if (typeof digest !== 'string' || !isDigest(digest))
      throw invalid(`${place}: access.${key}: found ${typeName(digest)}; expected a digest such as sha256:...`)
    const repository = repositoryOf(this.#context, component.name)
    const bytes = await withPlace(place, async () => (await this.#reader()).blob(repository, digest))
    return { bytes, mediaType: mediaTypeOf(access) }
  }

  async #text(repository: OciRepository, reference: string, at: string): Promise<string> {
    const reader = await this.#reader()
    const manifest = manifestIn(await reader.manifest(repository, reference), at)
    if (!CONFIG_TYPES.includes(manifest.config.mediaType))
      throw invalid(`${at}: found a config of the type ${shown(manifest.config.mediaType)}; expected a component`)
    const config = jsonOf(await reader.blob(repository, manifest.config.digest, MAX_CONFIG_BYTES))
    const { mediaType, digest } = layerIn(
      isFields(config) ? config['componentDescriptorLayer'] : undefined,
      `${at}: componentDescriptorLayer of its config`,
    )
    const isTar = TAR_TYPES.includes(mediaType)
    if (!isTar && !TEXT_TYPES.includes(mediaType))
      throw invalid(`${at}: found a layer of the type ${shown(mediaType)}; expected a component descriptor`)
    const bytes = await reader.blob(repository, digest, MAX_LAYER_BYTES)
    return isTar ? await this.#unpacked(bytes, at) : bytes.toString('utf8')
  }

  async #unpacked(bytes: Buffer, at: string): Promise<string> {
    const text = (await withPlace(at, () => this.#data.archive(bytes)))[DESCRIPTOR_FILE]
    if (text === undefined)
      throw invalid(`${at}: ${DESCRIPTOR_FILE} is missing in the archive of its layer; push the component again`)
    if (!isText(text)) throw invalid(`${at}, ${DESCRIPTOR_FILE}: ${notTextProblem(text)}`)
    return text
  }

  async #yaml(text: string, at: string): Promise<unknown> {
    try {
      return await this.#data.yaml(text, at)
    } catch (error) {
      if (!(error instanceof YamlError)) throw error
      throw invalid(`${at}, line ${error.line}, column ${error.column}: ${error.reason}`)
    }
  }
}

/** The content of a resource with its own reference, independent of the component's repository: a blob, or an artefact with one layer. */
export async function ociContentOf(
  reader: RegistryReader,
  { component, resource: { access, name } }: ResolvedResource,
  reference: string,
): Promise<ResourceContent> {
  const place = `resource "${name}" of component "${titleOfComponent(component)}"`
  const found = readOciReference(reference)
  if (found === undefined)
    throw invalid(
      `${place}: access: found ${shown(reference)}; expected a reference such as ghcr.io/acme/blueprint:1.2.0`,
    )
  const { repository } = found
  const { digest } = access
  if (typeof digest === 'string' && isDigest(digest))
    return { bytes: await withPlace(place, () => reader.blob(repository, digest)), mediaType: mediaTypeOf(access) }
  const at = `${place}: ${titleOf(found)}`
  const manifest = await withPlace(place, () => reader.manifest(repository, found.reference))
  const { layers } = manifestIn(manifest, at)
  const [layer] = layers
  if (layer === undefined || layers.length > 1)
    throw invalid(`${at}: found ${layers.length} layers; expected an artefact with one, the content`)
  const bytes = await withPlace(place, () => reader.blob(repository, layer.digest))
  return { bytes, mediaType: layer.mediaType, manifest }
}

interface Layer {
  readonly mediaType: string
  readonly digest: string
}

function manifestIn(bytes: Buffer, at: string): { readonly config: Layer; readonly layers: readonly Layer[] } {
  const manifest = jsonOf(bytes)
  const fields: Fields = isFields(manifest) ? manifest : {}
  const layers = fields['layers']
  if (!isFields(fields['config']) || !Array.isArray(layers))
    throw invalid(`${at}: found something else; expected a manifest with config and layers`)
  return {
    config: layerIn(fields['config'], `${at}: config of its manifest`),
    layers: layers.map((one, index) => layerIn(one, `${at}: layers[${index}] of its manifest`)),
  }
}

function layerIn(value: unknown, at: string): Layer {
  const { digest, mediaType = '' } = isFields(value) ? value : {}
  if (typeof digest === 'string' && isDigest(digest) && typeof mediaType === 'string') return { digest, mediaType }
  throw invalid(`${at}: digest is missing; expected one such as sha256:...`)
}

function mediaTypeOf({ mediaType }: Fields): string {
  return typeof mediaType === 'string' ? mediaType : ''
}

/** Adds the place of the reference to error messages. */
async function withPlace<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BlueprintError) || error.message.startsWith(place)) throw error
    throw new BlueprintError(error.code, `${place}: ${error.message}`, { cause: error })
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
