// Tests Installations of components: from a folder, inline, in sub-installations, and the errors for missing components.
// Source: spec/landscaper.md 1.2, 1.7, 2.5, 3.1.

import { afterAll, describe, expect, it } from 'vitest'
import { API, installation, type LsObject } from '../support/cluster/cluster.ts'
import {
  blob,
  BLUEPRINT_TYPE,
  descriptorV2,
  descriptorV3,
  newRegistry,
  reference,
  tarOf,
} from '../support/registries/component-registry.ts'
import { blobDigest, digestOf, newKeys, signed, SIGNATURE } from '../support/registries/signed-components.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, exportingData, subsOf } from '../support/landscaper/sub-installations.ts'

const [SHOP, DB] = ['example.com/shop', 'example.com/db']
const DATABASE = deploying({ name: 'server', config: { export: { host: 'db.example.org' } } })
const OWN = {
  ...deploying({ name: 'web' }),
  ...exportingData('image', '{{ (getResource "name" "web").access.imageReference }}'),
  subinstallations: [{ name: 'db', blueprint: { ref: 'cd://componentReferences/db/resources/blueprint' } }],
}
const contents = {
  resources: [
    blob('blueprint', BLUEPRINT_TYPE),
    { name: 'web', type: 'ociImage', access: { type: 'ociArtifact', imageReference: 'example.org/web:1.0.0' } },
  ],
  references: [reference('db', DB, '2.0.0')],
}
const archive = (definition: object) => tarOf({ 'blueprint.yaml': JSON.stringify(definition) }, '--gzip')
const registry = newRegistry({
  'repo/shop/component-descriptor.yaml': JSON.stringify(descriptorV3(SHOP, '1.0.0', contents)),
  'repo/shop/blobs/blueprint': archive(OWN),
  'repo/db/component-descriptor.yaml': JSON.stringify(
    descriptorV2(DB, '2.0.0', { resources: [blob('blueprint', BLUEPRINT_TYPE)] }),
  ),
  'repo/db/blobs/blueprint': archive(DATABASE),
  'repo/blobs/blueprint': archive(DATABASE),
  'repo/db-newer/component-descriptor.yaml': JSON.stringify(
    descriptorV2(DB, '2.1.0', { resources: [blob('blueprint', BLUEPRINT_TYPE)] }),
  ),
  'repo/db-newer/blobs/blueprint': archive(deploying({ name: 'newer' })),
})
afterAll(() => registry.remove())
const stage = useStage('components', () => Promise.resolve({ workerFlags: ['--registry-local', registry.folder] }))

const repositoryContext = { type: 'local', filePath: 'repo' }
const byRef = (version = '1.0.0') => ({ ref: { repositoryContext, componentName: SHOP, version } })

const named = (kind: string, name: string) => ({ apiVersion: API, kind, metadata: { name } })

async function create(name: string, componentDescriptor: object, spec: object = {}): Promise<LsObject> {
  const written = installation(name, [])
  const blueprint = { ref: { resourceName: 'blueprint' } }
  await stage.cluster.create({ ...written, spec: { componentDescriptor, blueprint, ...spec } }, 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

describe.concurrent('an installation of a component', () => {
  it('gets its blueprint from its component, and its sub-installations get theirs from the referenced components', async () => {
    const { cluster } = stage
    const exports = { data: [{ name: 'image', dataRef: 'shop-image' }] }
    expect((await create('shop', byRef(), { exports })).status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.get('dataobjects', 'shop-image')).toMatchObject({ data: 'example.org/web:1.0.0' })
    const [db] = [...(await subsOf(cluster, 'shop')).values()]
    const conditions = expect.arrayContaining([
      expect.objectContaining({ type: 'ComponentReferenceOverwrite', status: 'False' }),
    ]) as unknown
    expect(db?.status).toMatchObject({ phase: 'Succeeded', conditions })
    expect(db?.['spec']).toMatchObject({
      componentDescriptor: { ref: { repositoryContext, componentName: DB, version: '2.0.0' } },
      blueprint: { ref: { resourceName: 'blueprint' } },
    })
    await cluster.delete('installations', 'shop')
    await cluster.waitUntilGone('shop')
  })

  it('uses the versions of the ComponentVersionOverwrites of its context, and reports them in a condition', async () => {
    const { cluster } = stage
    const overwrites = [{ source: { componentName: DB }, substitution: { version: '2.1.0' } }]
    await cluster.create({ ...named('ComponentVersionOverwrites', 'newer'), overwrites }, 'componentversionoverwrites')
    await cluster.create({ ...named('Context', 'replacing'), componentVersionOverwrites: 'newer' }, 'contexts')
    const { status } = await create('replaced', byRef(), { context: 'replacing' })
    expect(status).toMatchObject({ phase: 'Succeeded' })
    expect(status?.['conditions']).toContainEqual(
      expect.objectContaining({
        type: 'ComponentReferenceOverwrite',
        status: 'True',
        reason: 'FoundOverwrite',
        message: `Pawl replaced component references: ${DB}:2.0.0 by ${DB}:2.1.0`,
      }),
    )
    const [db] = [...(await subsOf(cluster, 'replaced')).values()]
    expect(db?.['spec']).toMatchObject({ componentDescriptor: { ref: { componentName: DB, version: '2.1.0' } } })
    expect(await cluster.phases(db?.metadata.name ?? '')).toEqual({ newer: 'Succeeded' })

    await cluster.delete('componentversionoverwrites', 'newer')
    await cluster.trigger('replaced')
    const { lastError } = (await cluster.waitUntilFinished('replaced', status?.jobID)).status ?? {}
    expect(lastError).toMatchObject({
      reason: 'ComponentVersionOverwritesNotFound',
      message: `Context "components/replacing": componentVersionOverwrites: ComponentVersionOverwrites "components/newer" does not exist; create it or remove the name`,
    })
  })

  it('is verified by its signature, and its sub-installations by the digests of its references', async () => {
    const { cluster } = stage
    const packed = { own: archive(OWN), db: archive(DATABASE) }
    const db = descriptorV2(DB, '2.0.0', {
      resources: [{ ...blob('blueprint', BLUEPRINT_TYPE, 'db.tgz'), digest: blobDigest(packed.db) }],
    })
    const image = { name: 'web', type: 'ociImage', digest: blobDigest('an image') }
    const shop = descriptorV3(SHOP, '1.0.0', {
      resources: [
        { ...blob('blueprint', BLUEPRINT_TYPE, 'own.tgz'), digest: blobDigest(packed.own) },
        { ...image, access: { type: 'ociArtifact', imageReference: 'example.org/web:1.0.0' } },
      ],
      references: [reference('db', DB, '2.0.0', { digest: digestOf(db) })],
    })
    const keys = newKeys()
    registry.write({ 'signed/blobs/own.tgz': packed.own, 'signed/blobs/db.tgz': packed.db })
    registry.write({
      'signed/shop/component-descriptor.yaml': JSON.stringify(signed(shop, { key: keys.privateKey })),
      'signed/db/component-descriptor.yaml': JSON.stringify(db),
    })
    await cluster.create(
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'acme' }, stringData: { key: keys.publicPem } },
      'secrets',
    )
    const verificationSignatures = { [SIGNATURE]: { publicKeySecretReference: { name: 'acme' } } }
    const context = { repositoryContext: { type: 'local', filePath: 'signed' }, verificationSignatures }
    await cluster.create({ ...named('Context', 'signed'), ...context }, 'contexts')
    const verification = { signatureName: SIGNATURE }
    const spec = { context: 'signed', verification }
    const definition = { ref: { componentName: SHOP, version: '1.0.0' } }
    const { status } = await create('verified', definition, spec)
    expect(status).toMatchObject({ phase: 'Succeeded' })
    const [sub] = [...(await subsOf(cluster, 'verified')).values()]
    expect(sub).toMatchObject({ spec, status: { phase: 'Succeeded' } })

    registry.write({ 'signed/blobs/db.tgz': archive(deploying({ name: 'evil' })) })
    await cluster.trigger('verified')
    const failed = await cluster.waitUntilFinished('verified', status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    const refused = await cluster.get('installations', sub?.metadata.name ?? '')
    expect(refused?.status?.lastError).toMatchObject({
      reason: 'UntrustedContent',
      message: expect.stringContaining(
        `resource "blueprint" of component "${DB}:2.0.0": found content of the digest`,
      ) as string,
    })
    registry.write({
      'signed/db/component-descriptor.yaml': JSON.stringify({ ...db, component: { ...db.component, provider: 'b' } }),
    })
    await cluster.trigger('verified')
    const changed = await cluster.waitUntilFinished('verified', failed.status?.jobID)
    expect(changed.status?.lastError).toMatchObject({
      reason: 'UntrustedContent',
      message: expect.stringContaining(
        `component ${SHOP}:1.0.0: reference db to ${DB}:2.0.0: found the digest`,
      ) as string,
    })
  })
})
