// Components in transport archives, laid out as the command line of OCM does it (test/env/ocm-registry.test.ts has that itself).

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { CTF_TYPES } from '../../../../activities/landscaper/components/ctf-repository.ts'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import { resolveResource } from '../../../../activities/landscaper/render/blueprint/component-scope.ts'
import { descriptorV3, newRegistry, noRegistries, tarOf } from '../../../support/registries/component-registry.ts'
import { CONFIG, localBlobOf } from '../../../support/registries/oci-components.ts'
import { digestOf } from '../../../support/registries/oci-registry.ts'
import { data } from '../tenant-data.ts'

const SHOP = 'example.com/shop'
const TEXT = 'application/vnd.ocm.software.component-descriptor.v2+json'
const stage = newRegistry()
afterAll(() => stage.remove())

interface Artefact {
  readonly repository?: unknown
  readonly tag?: string
  readonly digest?: string
}

/** @returns the digest of its manifest. */
function write(path: string, note: Buffer, artefactOf = (digest: string): Artefact => usual(digest)): string {
  const resources = [localBlobOf('note', 'text', note, 'text/plain')]
  const descriptor = Buffer.from(JSON.stringify(descriptorV3(SHOP, '1.0.0', { resources })))
  const described = (content: Buffer, mediaType: string) => ({ mediaType, digest: digestOf(content) })
  const config = Buffer.from(JSON.stringify({ componentDescriptorLayer: described(descriptor, TEXT) }))
  const manifest = Buffer.from(
    JSON.stringify({ config: described(config, CONFIG), layers: [described(descriptor, TEXT)] }),
  )
  for (const content of [note, descriptor, config, manifest])
    stage.write({ [`${path}/blobs/${digestOf(content).replace(':', '.')}`]: content })
  const artifacts = [artefactOf(digestOf(manifest))]
  stage.write({ [`${path}/artifact-index.json`]: JSON.stringify({ schemaVersion: 1, artifacts }) })
  return digestOf(manifest)
}
const usual = (digest: string) => ({ repository: `component-descriptors/${SHOP}`, tag: '1.0.0', digest })

const resolve = (filePath: string, context: object = {}, more: { registryFolder?: undefined } = {}) =>
  resolveComponents(data, {
    definition: { ref: { componentName: SHOP, version: '1.0.0' } },
    repositoryContext: { type: CTF_TYPES[0], filePath, ...context },
    context: 'default',
    registryFolder: stage.folder,
    registries: noRegistries,
    ...more,
  })

describe('a component in a transport archive', () => {
  const note = Buffer.from([0, 255, 1])

  it.each([
    ['folder', []],
    ['packed.tar', ['-f']],
    ['packed.tgz', ['-z', '-f']],
    ['packed.tar.gz', ['-z', '-f']],
  ])('is found by its name and version, with its blobs as they are, in %s', async (name, flags) => {
    write('folder', note)
    const packs = flags.length > 0
    if (packs) execFileSync('tar', ['-C', join(stage.folder, 'folder'), '-c', ...flags, join(stage.folder, name), '.'])
    const scope = await resolve(packs ? `../${name}` : name, { type: 'CommonTransportFormat/v1' })
    const content = await scope.readContent(resolveResource(scope, 'cd://resources/note'))
    expect(content).toEqual({ bytes: note, mediaType: 'text/plain' })
    expect(scope.definitionOf(scope.own)).toEqual({ ref: { componentName: SHOP, version: '1.0.0' } })
    await expect(resolve(name, { subPath: 'acme' })).rejects.toThrow(
      `transport archive ${name} of the registry: found no acme/component-descriptors/${SHOP}:1.0.0 in its artifact-index.json`,
    )
  })

  it('may lie below a path', async () => {
    write('below', note, (digest) => ({ ...usual(digest), repository: `acme/component-descriptors/${SHOP}` }))
    expect((await resolve('below', { subPath: 'acme' })).own.name).toBe(SHOP)
  })

  it('is refused where a blob is not what its name says', async () => {
    const digest = write('changed', note)
    stage.write({ [`changed/blobs/${digest.replace(':', '.')}`]: '{}' })
    await expect(resolve('changed')).rejects.toMatchObject({ code: 'UntrustedContent' })
    await expect(resolve('changed')).rejects.toThrow(
      `found content of ${digestOf(Buffer.from('{}'))}; expected ${digest}`,
    )
  })

  it.each<[string, string, string]>([
    ['no archive', 'none', 'artifact-index.json is missing in folder none of the registry'],
    ['one outside of the folder', '../../etc', 'artifact-index.json is missing in folder ../../etc'],
    [
      'a packed one of something else',
      'packed.tgz',
      'artifact-index.json is missing in archive packed.tgz of the registry',
    ],
    [
      'a file that is no archive',
      'text.tgz',
      'archive text.tgz of the registry: found something that cannot be unpacked',
    ],
    ['an index of something else', 'other', 'artifact-index.json in folder other of the registry: found nothing'],
    ['a digest that leads out', 'lying', 'artifacts[0]: found no repository and digest; expected both'],
  ])('is not found in %s', async (_, path, message) => {
    stage.write({ 'packed.tgz': tarOf({ index: '' }), 'text.tgz': 'x'.repeat(2000), 'other/artifact-index.json': '[]' })
    write('lying', note, () => ({ ...usual(''), digest: '../../secret' }))
    await expect(resolve(path)).rejects.toThrow(message)
  })

  it('needs a folder of the operator', async () => {
    const work = resolve('folder', { type: 'CommonTransportFormat' }, { registryFolder: undefined })
    await expect(work).rejects.toThrow('found type CommonTransportFormat, but the worker has no folder of components')
  })
})
