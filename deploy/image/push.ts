// Pushes an OCI layout to a registry. Source: OCI distribution specification 1.1, "Push".

import { createReadStream, readFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Descriptor } from './oci-layout.ts'

interface Manifest {
  readonly config?: Descriptor
  readonly layers?: readonly Descriptor[]
  readonly manifests?: readonly Descriptor[]
}

interface Target {
  /** `http://127.0.0.1:5000/v2/team/pawl` */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly folder: string
  readonly pushed: Set<string>
}

export interface Repository {
  /** `registry.example.com/team/pawl` */
  readonly name: string
  /** The URL of the distribution API. */
  readonly url: string
}

/** @throws when the text is not HOST/NAME. */
export function readRepository(text: string): Repository {
  const [, host = '', path = ''] = /^([^/]+)\/(.+)$/.exec(text) ?? []
  if (host === '') throw new Error(`--push: found '${text}'; expected HOST/NAME, such as registry.example.com/team/pawl`)
  const scheme = /^(?:localhost|127\.[\d.]+)(?::\d+)?$/.test(host) ? 'http' : 'https'
  return { name: text, url: `${scheme}://${host}/v2/${path}` }
}

/** Pushes each tag of the layout. */
export async function pushLayout(folder: string, { name, url }: Repository, report: (text: string) => void): Promise<void> {
  const target = { url, headers: readCredentials(), folder, pushed: new Set<string>() }
  const { manifests = [] } = readJson(folder, 'index.json')
  for (const descriptor of manifests) {
    const tag = descriptor.annotations?.['org.opencontainers.image.ref.name'] ?? ''
    await pushManifest(target, descriptor, tag)
    report(`pushed: ${name}:${tag}`)
  }
}

function readCredentials(): Readonly<Record<string, string>> {
  const { PAWL_REGISTRY_USER: user, PAWL_REGISTRY_PASSWORD: password = '' } = process.env
  if (user === undefined) return {}
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

/** A manifest after everything that it names, because a registry refuses it otherwise. */
async function pushManifest(target: Target, { digest, mediaType }: Descriptor, reference: string): Promise<void> {
  const bytes = readFileSync(blobPath(target.folder, digest))
  const { config, layers = [], manifests = [] } = JSON.parse(bytes.toString()) as Manifest
  for (const one of manifests) await pushManifest(target, one, one.digest)
  for (const one of [...(config === undefined ? [] : [config]), ...layers]) await pushBlob(target, one)
  const headers = { ...target.headers, 'content-type': mediaType }
  await expectOk(await fetch(`${target.url}/manifests/${reference}`, { method: 'PUT', headers, body: new Uint8Array(bytes) }))
}

async function pushBlob({ url, headers, folder, pushed }: Target, { digest }: Descriptor): Promise<void> {
  if (pushed.has(digest)) return
  pushed.add(digest)
  const known = await fetch(`${url}/blobs/${digest}`, { method: 'HEAD', headers })
  if (known.ok) return
  const started = await expectOk(await fetch(`${url}/blobs/uploads/`, { method: 'POST', headers }))
  const place = new URL(started.headers.get('location') ?? '', url)
  place.searchParams.set('digest', digest)
  const path = blobPath(folder, digest)
  const body = Readable.toWeb(createReadStream(path))
  const length = { 'content-type': 'application/octet-stream', 'content-length': `${(await stat(path)).size}` }
  await expectOk(await fetch(place, { method: 'PUT', headers: { ...headers, ...length }, body, duplex: 'half' }))
}

async function expectOk(response: Response): Promise<Response> {
  if (response.ok) return response
  throw new Error(`${response.url}: HTTP ${response.status}: ${(await response.text()).slice(0, 500)}`)
}

function readJson(folder: string, name: string): Manifest {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Manifest
}

function blobPath(folder: string, digest: string): string {
  return join(folder, 'blobs', digest.replace(':', '/'))
}

