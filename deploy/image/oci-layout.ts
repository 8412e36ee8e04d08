// Writes images as an OCI layout: a folder that skopeo, crane and other tools copy to a registry. Source: OCI image
// specification 1.1, image-layout.md, manifest.md, config.md.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './base-packages.ts'
import { digestOf, type Layer } from './file-tree.ts'
import { VARIANTS, type Variant } from './variants.ts'

export const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
export const INDEX = 'application/vnd.oci.image.index.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip'
const EMPTY = 'application/vnd.oci.empty.v1+json'

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly architecture: Architecture; readonly os: 'linux' }
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Release {
  readonly version: string
  /** The Git commit. */
  readonly revision: string
  /** Seconds since 1970: the commit's time. */
  readonly time: number
}

/** An OCI layout in a folder. Blobs are written at once; `close` writes the list of tags. */
export class OciLayout {
  readonly #folder: string
  readonly #tagged: Descriptor[] = []

  constructor(folder: string) {
    this.#folder = folder
    mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
    writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
  }

  /** The manifest of an image for one architecture. */
  addImage(variant: Variant, architecture: Architecture, layers: readonly Layer[], release: Release): Descriptor {
    const created = new Date(release.time * 1000).toISOString()
    const config = {
      created,
      architecture,
      os: 'linux',
      config: {
        User: variant.user,
        Env: ['PATH=/usr/local/bin:/usr/sbin:/usr/bin', 'NODE_ENV=production', 'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'],
        Entrypoint: variant.entrypoint,
        WorkingDir: '/tmp',
        Labels: annotationsOf(variant, release),
      },
      rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
      history: layers.map(({ comment }) => ({ created, created_by: 'deploy/image/build.ts', comment })),
    }
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: this.addJson(config, CONFIG),
      layers: layers.map(({ bytes }) => this.#addBlob(bytes, LAYER)),
      annotations: annotationsOf(variant, release),
    }
    return { ...this.addJson(manifest, MANIFEST), platform: { architecture, os: 'linux' } }
  }

  /** The index of an image's architectures, with its tag. */
  addIndex(variant: Variant, manifests: readonly Descriptor[], release: Release): Descriptor {
    const index = { schemaVersion: 2, mediaType: INDEX, manifests, annotations: annotationsOf(variant, release) }
    return this.#tag(this.addJson(index, INDEX), tagOf(variant, release))
  }

  /** A manifest whose layers are no file systems, such as signatures. */
  addArtifact(tag: string, layers: readonly { readonly bytes: Buffer; readonly mediaType: string; readonly annotations: Readonly<Record<string, string>> }[]): Descriptor {
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: this.addJson({}, EMPTY),
      layers: layers.map(({ bytes, mediaType, annotations }) => ({ ...this.#addBlob(bytes, mediaType), annotations })),
    }
    return this.#tag(this.addJson(manifest, MANIFEST), tag)
  }

  addJson(value: object, mediaType: string): Descriptor {
    return this.#addBlob(Buffer.from(JSON.stringify(value)), mediaType)
  }

  close(): void {
    const index = { schemaVersion: 2, mediaType: INDEX, manifests: this.#tagged }
    writeFileSync(join(this.#folder, 'index.json'), JSON.stringify(index))
  }

  #tag(descriptor: Descriptor, tag: string): Descriptor {
    this.#tagged.push({ ...descriptor, annotations: { 'org.opencontainers.image.ref.name': tag } })
    return descriptor
  }

  #addBlob(bytes: Buffer, mediaType: string): Descriptor {
    const digest = digestOf(bytes)
    writeFileSync(join(this.#folder, 'blobs', digest.replace(':', '/')), bytes)
    return { mediaType, digest, size: bytes.length }
  }
}

/** `0.1.0`, or `0.1.0-injector`. */
export function tagOf({ name }: Variant, { version }: Release): string {
  return name === VARIANTS[0]?.name ? version : `${version}-${name}`
}

function annotationsOf(variant: Variant, { version, revision, time }: Release): Readonly<Record<string, string>> {
  const values = {
    title: 'pawl',
    description: variant.description,
    version,
    revision,
    created: new Date(time * 1000).toISOString(),
    licenses: 'Apache-2.0',
    'base.name': 'Debian packages of deploy/image/base-packages.json',
  }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`org.opencontainers.image.${name}`, value]))
}
