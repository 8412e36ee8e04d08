// Components in a registry, laid out as OCM's command line does it (test/env/ocm-registry.test.ts has that itself). Source: OCM v0.11.0, genericocireg/state.go.

import { tarOf } from './component-registry.ts'
import { digestOf, type OciRegistry, MANIFEST } from './oci-registry.ts'

export const CONFIG = 'application/vnd.ocm.software.component.config.v1+json'
export const DESCRIPTOR = 'application/vnd.ocm.software.component-descriptor.v2+yaml+tar'

export interface PushedComponent {
  /** Of the registry, before `component-descriptors`. */
  readonly prefix?: string
  readonly descriptor: object
  readonly blobs?: readonly Buffer[]
  readonly tag?: string
  readonly mediaType?: string
  readonly repository?: string
}

/** The access of a local blob. */
export const localBlobOf = (name: string, type: string, content: Buffer, mediaType: string) => ({
  name,
  type,
  version: 'v1.0.0',
  relation: 'local',
  access: { type: 'localBlob', localReference: digestOf(content), mediaType },
})

export async function pushComponent(registry: OciRegistry, pushed: PushedComponent): Promise<void> {
  const { prefix, descriptor, blobs = [], mediaType = DESCRIPTOR } = pushed
  const { name, version } = namesIn(descriptor)
  const repository =
    pushed.repository ?? [prefix, 'component-descriptors', name].filter((part) => part !== undefined).join('/')
  const text = JSON.stringify(descriptor)
  const layer = mediaType.endsWith('tar') ? tarOf({ 'component-descriptor.yaml': text }) : Buffer.from(text)
  const config = { componentDescriptorLayer: { mediaType, digest: digestOf(layer), size: layer.length } }
  await pushArtifact(registry, {
    repository,
    tag: pushed.tag ?? version.replaceAll('+', '.build-'),
    config: JSON.stringify(config),
    configType: CONFIG,
    layers: [{ content: layer, mediaType }, ...blobs.map((content) => ({ content, mediaType: 'application/x-tar' }))],
  })
}

interface PushedArtifact {
  readonly repository: string
  readonly tag: string
  readonly config: string
  readonly configType: string
  readonly layers: readonly { readonly content: Buffer; readonly mediaType: string }[]
}

export async function pushArtifact(registry: OciRegistry, artifact: PushedArtifact): Promise<void> {
  const { repository, tag, config, configType, layers } = artifact
  for (const content of [Buffer.from(config), ...layers.map((one) => one.content)])
    await registry.pushBlob(repository, content)
  const described = (content: Buffer, mediaType: string) => ({
    mediaType,
    digest: digestOf(content),
    size: content.length,
  })
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: described(Buffer.from(config), configType),
    layers: layers.map(({ content, mediaType }) => described(content, mediaType)),
  }
  await registry.pushManifest(repository, tag, Buffer.from(JSON.stringify(manifest)))
}

function namesIn(descriptor: object): { readonly name: string; readonly version: string } {
  const { component, metadata } = descriptor as Record<string, { name: string; version: string } | undefined>
  return component ?? metadata ?? { name: '', version: '' }
}
