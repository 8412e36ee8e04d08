// A component repository in a local folder: files whose name contains `component-descriptor`, with the component's blobs in `blobs/` in the same
// folder. A component archive of the OCM command line has this form, too. Source: spec/landscaper.md 1.7, 5.4.

import { posix } from 'node:path'
import { BlueprintError } from '../render/render-errors.ts'
import { MAX_FILES, MAX_BYTES, MAX_LEVELS } from '../render/blueprint/blueprint-files.ts'
import { readComponent, titleOfComponent, type Component } from '../render/blueprint/component-descriptor.ts'
import type { ResolvedResource, ResourceContent } from '../render/blueprint/component-scope.ts'
import { typeName } from '../render/field-reader.ts'
import { YamlError } from '../../yaml/read-yaml.ts'
import {
  MAX_DESCRIPTOR_BYTES,
  MAX_DESCRIPTORS_BYTES,
  type ComponentData,
  type ComponentRepository,
  type FoundComponent,
} from './component-repository.ts'
import type { RegistryFolder } from './registry-folder.ts'

const LIMITS = { levels: 16, files: 10_000 }
const DESCRIPTOR = /component-descriptor.*\.(?:ya?ml|json)$/
const BLOBS = 'blobs'

/** The components of one folder, each descriptor read once: for one resolution of a component and its references. */
export class LocalComponents implements ComponentRepository {
  readonly #folder: RegistryFolder
  readonly #path: string
  readonly #data: Pick<ComponentData, 'yaml'>
  #texts: Promise<ReadonlyMap<string, string>> | undefined

  constructor(folder: RegistryFolder, path: string, data: Pick<ComponentData, 'yaml'>) {
    this.#folder = folder
    this.#path = path
    this.#data = data
  }

  /**
   * @param place of the reference, for messages.
   * @throws BlueprintError `ComponentNotFound` with the problems of unreadable descriptors that contain the name.
   */
  async find(name: string, version: string, place: string): Promise<FoundComponent> {
    this.#texts ??= this.#read()
    const unread: string[] = []
    for (const [path, text] of await this.#texts) {
      // JSON may escape the slashes of a name.
      if (!text.replaceAll('\\/', '/').includes(name)) continue
      const found = await this.#component(path, text, { name, version }, unread)
      if (found !== undefined) return { component: found, folder: posix.dirname(path) }
    }
    const also = unread.length === 0 ? '' : `; unreadable: ${unread.slice(0, 3).join(', ')}`
    const where = `folder ${this.#path} of the registry`
    throw new BlueprintError(
      'ComponentNotFound',
      `${place}: no component "${name}:${version}" in ${where}; add it${also}`,
    )
  }

  async localContentOf(
    { component, resource }: ResolvedResource,
    folder: string | undefined,
  ): Promise<ResourceContent> {
    const { access } = resource
    const place = `resource "${resource.name}" of component "${titleOfComponent(component)}"`
    const key = 'filename' in access && !('localReference' in access) ? 'filename' : 'localReference'
    const [reference, mediaType] = [access[key], access['mediaType'] ?? '']
    if (typeof reference !== 'string' || reference === '')
      throw invalid(`${place}: access.${key}: found nothing; expected the name of a blob`)
    if (typeof mediaType !== 'string')
      throw invalid(`${place}: access.mediaType: found ${typeName(mediaType)}; expected text`)
    const folders = [...(folder === undefined ? [] : [folder]), this.#path]
    return await readBlob(this.#folder, folders, { reference, mediaType, place: `${place}, ${reference}` })
  }

  async #component(
    path: string,
    text: string,
    wanted: Pick<Component, 'name' | 'version'>,
    unread: string[],
  ): Promise<Component | undefined> {
    try {
      const component = readComponent(await this.#data.yaml(text, path), path)
      return titleOfComponent(component) === titleOfComponent(wanted) ? component : undefined
    } catch (error) {
      // An unreadable descriptor may only refer to the component, so it is no error if another one is found.
      if (error instanceof YamlError)
        unread.push(`${path}, line ${error.line}, column ${error.column}: ${error.reason}`)
      else if (error instanceof BlueprintError) unread.push(error.message)
      else throw error
      return undefined
    }
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    const files = await this.#folder.list(this.#path, LIMITS, (name) => name !== BLOBS)
    const texts = new Map<string, string>()
    let bytes = 0
    for (const { path } of files.filter((one) => DESCRIPTOR.test(posix.basename(one.path)))) {
      const content = await this.#folder.read(path, MAX_DESCRIPTOR_BYTES)
      if (content === undefined) continue
      bytes += content.length
      if (bytes > MAX_DESCRIPTORS_BYTES) {
        const found = `found more than ${MAX_DESCRIPTORS_BYTES} bytes of component descriptors; expected fewer`
        throw invalid(`folder ${this.#path} of the registry: ${found}`)
      }
      texts.set(path, content.toString('utf8'))
    }
    return texts
  }
}

/**
 * Reads a blob, which may be a folder.
 *
 * @param folders to search, in this order.
 * @throws BlueprintError `ComponentNotFound` with `place`.
 */
async function readBlob(
  folder: RegistryFolder,
  folders: readonly string[],
  { reference, mediaType, place }: { readonly reference: string; readonly mediaType: string; readonly place: string },
): Promise<ResourceContent> {
  // File names have a dot in place of a digest's colon.
  const names = [...new Set([reference, reference.replace(':', '.')])]
  const paths = folders.flatMap((one) => names.map((name) => posix.join(one, BLOBS, posix.join('/', name))))
  for (const path of paths) {
    const kind = await folder.find(path)
    if (kind === 'folder') return { folder: await filesBelow(folder, path) }
    const bytes = kind === 'file' ? await folder.read(path, MAX_BYTES) : undefined
    if (bytes !== undefined) return { bytes, mediaType }
  }
  const expected = `expected one of ${[...new Set(paths)].join(', ')} in the registry`
  throw new BlueprintError('ComponentNotFound', `${place}: blob not found; ${expected}`)
}

async function filesBelow(folder: RegistryFolder, path: string): Promise<Readonly<Record<string, Buffer>>> {
  const found = await folder.list(path, { levels: MAX_LEVELS, files: MAX_FILES }, () => true)
  const bytes = found.reduce((sum, one) => sum + one.bytes, 0)
  if (bytes > MAX_BYTES) throw invalid(`${path} of the registry: found ${bytes} bytes; expected at most ${MAX_BYTES}`)
  const files: [string, Buffer][] = []
  for (const one of found) {
    const content = await folder.read(one.path, MAX_BYTES)
    if (content !== undefined) files.push([posix.relative(path, one.path), content])
  }
  return Object.fromEntries(files)
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
