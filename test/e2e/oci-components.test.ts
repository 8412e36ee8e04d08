// Installations of components in real OCI registries: without authentication, with a password and with a token. Wrong or no
// answers: test/env/registry-answers.test.ts.
// Source: spec/landscaper.md 1.2, 1.7, 2.5, 3.1.

import { afterAll, describe, expect, it } from 'vitest'
import { Authority } from '../support/servers/certificates.ts'
import { API, installation } from '../support/cluster/cluster.ts'
import {
  BLUEPRINT_TYPE,
  descriptorV2,
  descriptorV3,
  LAYER,
  reference,
  tarOf,
} from '../support/registries/component-registry.ts'
import { localBlobOf, pushComponent } from '../support/registries/oci-components.ts'
import { OciRegistry, READER } from '../support/registries/oci-registry.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, exportingData, subsOf } from '../support/landscaper/sub-installations.ts'

const [SHOP, DB] = ['example.com/shop', 'example.com/db']
const archive = (definition: object) => tarOf({ 'blueprint.yaml': JSON.stringify(definition) }, '--gzip')
const DATABASE = archive(deploying({ name: 'server' }))
const NOTE = Buffer.from('a text beside it')
const OWN = archive({
  ...deploying({ name: 'web' }),
  ...exportingData('note', '{{ getResourceContent "cd://resources/note" }}'),
  subinstallations: [{ name: 'db', blueprint: { ref: 'cd://componentReferences/db/resources/blueprint' } }],
})

interface Registries {
  readonly open: OciRegistry
  readonly basic: OciRegistry
  readonly token: OciRegistry
  readonly authority: Authority
}

let registries: Registries
const stage = useStage('oci-components', async () => {
  const authority = await Authority.make('registries')
  const open = await OciRegistry.start()
  const basic = await OciRegistry.start({ auth: 'basic', storageOf: open })
  const token = await OciRegistry.start({ auth: 'token', tls: await authority.issue('localhost'), storageOf: open })
  registries = { open, basic, token, authority }
  await push(open)
  return { workerFlags: ['--target-allow', '127.0.0.1,localhost'] }
})
afterAll(async () => {
  const { token, basic, open } = registries
  for (const registry of [token, basic, open]) await registry.stop()
})

async function push(registry: OciRegistry): Promise<void> {
  const resources = [
    localBlobOf('blueprint', BLUEPRINT_TYPE, OWN, `${LAYER}+gzip`),
    localBlobOf('note', 'text', NOTE, 'text/plain'),
  ]
  const shop = descriptorV3(SHOP, '1.0.0+one', { resources, references: [reference('db', DB, '2.0.0')] })
  await pushComponent(registry, { prefix: 'acme', descriptor: shop, blobs: [OWN, NOTE] })
  const db = descriptorV2(DB, '2.0.0', {
    resources: [localBlobOf('blueprint', BLUEPRINT_TYPE, DATABASE, `${LAYER}+gzip`)],
  })
  await pushComponent(registry, { prefix: 'acme', descriptor: db, blobs: [DATABASE] })
}

const repository = (registry: OciRegistry | string) => ({
  type: 'OCIRegistry',
  baseUrl: `${typeof registry === 'string' ? registry : registry.url}/acme`,
})

async function putContext(name: string, content: object): Promise<void> {
  await stage.cluster.create({ apiVersion: API, kind: 'Context', metadata: { name }, ...content }, 'contexts')
}

const authsOf = (registry: OciRegistry, password = READER.password) =>
  JSON.stringify({ auths: { [registry.host]: { username: READER.username, password } } })

async function putPullSecret(name: string, config: string): Promise<void> {
  const secret = {
    metadata: { name },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': config },
  }
  await stage.cluster.create({ apiVersion: 'v1', kind: 'Secret', ...secret }, 'secrets')
}

async function create(name: string, spec: object, componentName = SHOP, version = '1.0.0+one'): Promise<void> {
  const componentDescriptor = { ref: { componentName, version } }
  const blueprint = { ref: { resourceName: 'blueprint' } }
  const written = { ...installation(name, []), spec: { componentDescriptor, blueprint, ...spec } }
  await stage.cluster.create(written, 'installations')
}

async function finished(
  name: string,
  ...how: Parameters<typeof create> extends [string, ...infer Rest] ? Rest : never
) {
  await create(name, ...how)
  return await stage.cluster.waitUntilFinished(name)
}

const failed = (reason: string, message: string) => ({
  phase: 'Failed',
  lastError: { reason, message: expect.stringContaining(message) as string },
})

describe.concurrent('an installation of a component in an OCI registry', () => {
  it('reads its blueprint, the blueprints of its sub-installations and other resources from the registry', async () => {
    await putContext('open', { repositoryContext: repository(registries.open) })
    const exports = { data: [{ name: 'note', dataRef: 'shop-note' }] }
    expect((await finished('open', { context: 'open', exports })).status).toMatchObject({ phase: 'Succeeded' })
    expect(await stage.cluster.get('dataobjects', 'shop-note')).toMatchObject({ data: NOTE.toString() })
    const [db] = [...(await subsOf(stage.cluster, 'open')).values()]
    expect(db?.status).toMatchObject({ phase: 'Succeeded' })
    expect(db?.['spec']).toMatchObject({
      componentDescriptor: { ref: { componentName: DB, version: '2.0.0' } },
    })
    await stage.cluster.delete('installations', 'open')
    await stage.cluster.waitUntilGone('open')
  })

  it('authenticates with the pull secret of its context, and fails with RegistryDenied when the credentials are wrong or missing', async () => {
    const { cluster } = stage
    await putPullSecret('pull', authsOf(registries.basic, 'mistyped'))
    await putContext('basic', {
      repositoryContext: repository(registries.basic),
      registryPullSecrets: [{ name: 'pull' }],
    })
    const refused = await finished('basic', { context: 'basic' })
    expect(refused.status).toMatchObject(failed('RegistryDenied', 'with the configured credentials (401)'))
    const mended = Buffer.from(authsOf(registries.basic)).toString('base64')
    await cluster.kube.request('PATCH', '/api/v1/namespaces/oci-components/secrets/pull', {
      contentType: 'application/merge-patch+json',
      body: { data: { '.dockerconfigjson': mended } },
    })
    await cluster.trigger('basic')
    expect((await cluster.waitUntilFinished('basic', refused.status?.jobID)).status).toMatchObject({
      phase: 'Succeeded',
    })
    // What one may read is not kept for who may not.
    await putContext('nobody', { repositoryContext: repository(registries.basic) })
    const nobody = await finished('nobody', { context: 'nobody' })
    expect(nobody.status).toMatchObject(
      failed('RegistryDenied', 'the registry denies access without credentials (401)'),
    )
  })

  it('authenticates with a token over TLS by its OCM configuration, and fails with UntrustedServer without the certificate authority', async () => {
    const { hostname, port } = new URL(registries.token.url)
    const properties = { ...READER, certificateAuthority: registries.authority.cert }
    const consumer = {
      identity: { type: 'OCIRegistry', hostname, port, pathprefix: 'acme' },
      credentials: [{ type: 'Credentials', properties }],
    }
    const configurations = [{ type: 'credentials.config.ocm.software', consumers: [consumer] }]
    const config = JSON.stringify({ type: 'generic.config.ocm.software/v1', configurations })
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ocm' }, data: { '.ocmconfig': config } }
    await stage.cluster.create(map, 'configmaps')
    await putContext('token', { repositoryContext: repository(registries.token), ocmConfig: { name: 'ocm' } })
    expect((await finished('token', { context: 'token' })).status).toMatchObject({ phase: 'Succeeded' })
    await putContext('untrusted', { repositoryContext: repository(registries.token) })
    const untrusted = await finished('untrusted', { context: 'untrusted' })
    expect(untrusted.status).toMatchObject(failed('UntrustedServer', 'its certificate is not trusted'))
  })
})
