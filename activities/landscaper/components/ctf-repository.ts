// Reads components from a transport archive of OCM (`CommonTransportFormat`): a local folder, or a tar or tgz file. It has the content of an OCI
// registry and is read like one. Source: OCM v0.11.0, oci/repositories/ctf (artifact-index.json, blobs).
//
//   F1. The archive is in the operator's folder (registry-folder.ts), and its digests are verified as for a registry.

import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { MAX_BYTES } from '../render/blueprint/blueprint-files.ts'
import { BlueprintError } from '../render/render-errors.ts'
import { typeName, type Fields } from '../render/field-reader.ts'
import { isDigest, type OciRepository } from './oci-names.ts'
import { PackedArchives } from './packed-archive.ts'
import type { RegistryReader } from './registries.ts'
import { jsonOf } from './registry-client.ts'
import type { RegistryFolder } from './registry-folder.ts'
import { isFields } from '../../../workflows/kit/index.ts'

export const CTF_TYPES = ['CommonTransportFormat']
const INDEX = 'artifact-index.json'
const BLOBS = 'blobs'
/** The same limit as for registries. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024

/** The cache for all packed archives of the process; it depends only on the files themselves. */
const packed = new PackedArchives()

/** Reads a file of the archive; undefined if it does not exist. */
type ReadFile = (path: string, most: number) => Promise<Buffer | undefined>

interface Artefact {
  readonly repository: string
  readonly tag: string
  readonly digest: string
}

/** One archive; its index is read once. */
export class TransportArchive implements RegistryReader {
  readonly #read: ReadFile
  readonly #path: string
  readonly #index: readonly Artefact[]

  private constructor(read: ReadFile, path: string, index: readonly Artefact[]) {
    this.#read = read
    this.#path = path
    this.#index = index
  }

  /**
   * @param place of the context, for messages.
   * @throws BlueprintError `ComponentNotFound` when the archive does not exist; as PackedArchives if it is packed.
   */
  static async open(folder: RegistryFolder, path: string, place: string): Promise<TransportArchive> {
    const isPacked = (await folder.find(path)) === 'file'
    const where = `${isPacked ? 'archive' : 'folder'} ${path} of the registry`
    const read: ReadFile = isPacked
      ? (inner, most) => readPacked(folder, path, { inner, most, title: where })
      : (inner, most) => folder.read(posix.join(path, inner), most)
    const bytes = await read(INDEX, MAX_MANIFEST_BYTES)
    if (bytes === undefined)
      throw new BlueprintError('ComponentNotFound', `${place}: ${INDEX} is missing in ${where}; add it`)
    return new TransportArchive(read, path, indexIn(jsonOf(bytes), `${INDEX} in ${where}`))
  }

  async manifest(repository: OciRepository, reference: string): Promise<Buffer> {
    const { path } = repository
    const digest = isDigest(reference)
      ? reference
      : this.#index.findLast((one) => one.repository === path && one.tag === reference)?.digest
    if (digest === undefined)
      throw new BlueprintError('ComponentNotFound', `${this.#title}: found no ${path}:${reference} in its ${INDEX}`)
    return await this.blob(repository, digest, MAX_MANIFEST_BYTES)
  }

  async blob(_repository: OciRepository, digest: string, most = MAX_BYTES): Promise<Buffer> {
    const bytes = await this.#read(posix.join(BLOBS, digest.replace(':', '.')), most)
    if (bytes === undefined) throw new BlueprintError('ComponentNotFound', `${this.#title}: found no blob ${digest}`)
    const [algorithm = ''] = digest.split(':')
    const found = `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`
    if (found === digest) return bytes
    throw new BlueprintError('UntrustedContent', `${this.#title}: found content of ${found}; expected ${digest}`)
  }

  get #title(): string {
    return `transport archive ${this.#path} of the registry`
  }
}

interface FileRequest {
  readonly inner: string
  readonly most: number
  readonly title: string
}

// Reads the version each time, because the archive may have been replaced.
async function readPacked(
  folder: RegistryFolder,
  path: string,
  { inner, most, title }: FileRequest,
): Promise<Buffer | undefined> {
  const version = await folder.version(path)
  return version === undefined ? undefined : await packed.read({ version, title }, inner, most)
}

function indexIn(index: unknown, place: string): readonly Artefact[] {
  const artefacts = isFields(index) ? index['artifacts'] : undefined
  if (!Array.isArray(artefacts)) throw invalid(`${place}: found ${typeName(artefacts)}; expected artifacts, a list`)
  return artefacts.filter(isFields).map(({ repository, tag = '', digest }: Fields, at) => {
    if (typeof repository === 'string' && typeof tag === 'string' && typeof digest === 'string' && isDigest(digest))
      return { repository, tag, digest }
    throw invalid(`${place}: artifacts[${at}]: found no repository and digest; expected both`)
  })
}

function invalid(message: string): BlueprintError {
  return new BlueprintError('ERR_CONFIGURATION_PROBLEM', message)
}
