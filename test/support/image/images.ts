// Reads images for tests: from an OCI layout in a folder, or from a registry.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { digestOf } from '../registries/oci-registry.ts'

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly platform?: { readonly architecture: string }
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
  readonly manifests?: readonly Descriptor[]
}

export interface ImageConfig {
  readonly architecture: string
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly WorkingDir: string
  }
}

/** Returns a blob or a manifest by digest or tag. */
type Source = (kind: 'blobs' | 'manifests', reference: string) => Promise<Buffer>

export class Images {
  readonly #source: Source

  private constructor(source: Source) {
    this.#source = source
  }

  static inLayout(folder: string): Images {
    const { manifests = [] } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Manifest
    const tags = new Map(manifests.map((one) => [one.annotations?.['org.opencontainers.image.ref.name'], one.digest]))
    return new Images((_, reference) => {
      const digest = tags.get(reference) ?? reference
      return Promise.resolve(readFileSync(join(folder, 'blobs', digest.replace(':', '/'))))
    })
  }

  /** @param repository the URL of the registry with the repository: `http://127.0.0.1:5000/pawl`. */
  static inRegistry(repository: string, headers: Readonly<Record<string, string>>): Images {
    const { origin, pathname } = new URL(repository)
    return new Images(async (kind, reference) => {
      const accept = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json'
      const url = `${origin}/v2${pathname}/${kind}/${reference}`
      const response = await fetch(url, { headers: { ...headers, accept } })
      if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`)
      return Buffer.from(await response.arrayBuffer())
    })
  }

  async manifest(reference: string): Promise<Manifest> {
    return JSON.parse((await this.#read('manifests', reference)).toString()) as Manifest
  }

  async digest(tag: string): Promise<string> {
    return digestOf(await this.#read('manifests', tag))
  }

  async blob({ digest }: Descriptor): Promise<Buffer> {
    return await this.#read('blobs', digest)
  }

  /** The manifest and the configuration of an image for an architecture. */
  async image(
    tag: string,
    architecture: string,
  ): Promise<{ readonly manifest: Manifest; readonly config: ImageConfig }> {
    const { manifests = [] } = await this.manifest(tag)
    const found = manifests.find(({ platform }) => platform?.architecture === architecture)
    if (found === undefined) throw new Error(`${tag}: found no image for ${architecture}`)
    const manifest = await this.manifest(found.digest)
    const config = JSON.parse((await this.blob(manifest.config)).toString()) as ImageConfig
    return { manifest, config }
  }

  /** Unpacks the layers into a new folder. */
  async unpack({ layers }: Manifest): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-root-'))
    const root = join(folder, 'root')
    mkdirSync(root)
    for (const layer of layers) {
      writeFileSync(join(folder, 'layer'), await this.blob(layer))
      execFileSync('tar', ['-xzf', join(folder, 'layer'), '-C', root])
    }
    return root
  }

  async #read(kind: 'blobs' | 'manifests', reference: string): Promise<Buffer> {
    const bytes = await this.#source(kind, reference)
    if (reference.startsWith('sha256:') && digestOf(bytes) !== reference)
      throw new Error(`${reference}: found the digest ${digestOf(bytes)}`)
    return bytes
  }
}

/** The architecture of this machine, as images name it. */
export const ARCHITECTURE: 'amd64' | 'arm64' = process.arch === 'x64' ? 'amd64' : 'arm64'
