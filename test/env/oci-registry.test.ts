// Reads OCM components from real OCI registries, with and without credentials. Source: spec/landscaper.md 1.2, 1.7;
// docs/concepts/security.md.
//
// From registry-stage.ts: `open` is a registry without authentication. `opened()` creates a registry client with its
// cache; by default it may connect to 127.0.0.1 (`LISTED`). `pushed()` pushes a component to `open` with its own
// prefix, and `plain` is a descriptor without resources. `server()` starts an HTTP server with the given answers.

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDockerConfig } from '../../activities/landscaper/components/registry-credentials.ts'
import { descriptorV2, descriptorV3, reference, type Entry } from '../support/registries/component-registry.ts'
import { localBlobOf, pushArtifact, pushComponent } from '../support/registries/oci-components.ts'
import { digestOf, OciRegistry, READER } from '../support/registries/oci-registry.ts'
import {
  LISTED,
  NAME,
  contentOf,
  errorOf,
  open,
  opened,
  plain,
  pushed,
  resolve,
  server,
  useOpenRegistry,
} from './registry-stage.ts'

// This registry requires a password (test/e2e/oci-components.test.ts has one with tokens). It serves the storage of `open`, so that tests push to `open`.
let basic: OciRegistry

useOpenRegistry()
beforeAll(async () => {
  basic = await OciRegistry.start({ auth: 'basic', storageOf: open })
}, 600_000)
afterAll(async () => {
  await basic.stop()
})

describe('a component in a registry', () => {
  it.each([
    'application/vnd.ocm.software.component-descriptor.v2+yaml+tar',
    'application/vnd.ocm.software.component-descriptor.v2+yaml',
    'application/vnd.ocm.software.component-descriptor.v2+json',
    'application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar',
    'application/vnd.gardener.cloud.cnudie.component-descriptor.v2+json',
  ])('is read as %s', async (mediaType) => {
    const prefix = await pushed({ descriptor: plain, mediaType })
    expect((await resolve({ registry: `${open.url}/${prefix}` })).own).toMatchObject({ name: NAME, version: '1.0.0' })
  })

  it('is found at the repository and tag that OCM derives from its name and version', async () => {
    // The repository is the hash of the name. The tag is 1.0.0.build-a, because a tag cannot contain `+`.
    const hashed = createHash('sha256').update(NAME).digest('hex')
    await pushComponent(open, { repository: `hashed/${hashed}`, descriptor: descriptorV3(NAME, '1.0.0+a') })
    // Additional fields of the repository context.
    const context = { subPath: 'hashed', componentNameMapping: 'sha256-digest' }
    const found = await resolve({ registry: open.url, context, version: '1.0.0+a' })
    expect(found.own.version).toBe('1.0.0+a')
  })

  it('is resolved with its component references and its resources, also those in other repositories', async () => {
    const [blob, layer] = [Buffer.from('of the component'), Buffer.from('an artefact')]
    const artefacts: Entry[] = [
      {
        name: 'blob',
        type: 'text',
        access: { type: 'ociBlob', ref: `${open.url}/else/where`, digest: digestOf(layer) },
      },
      {
        name: 'artefact',
        type: 'text',
        access: { type: 'ociArtifact/v1', imageReference: `${open.url}/else/where:1.0.0` },
      },
      {
        name: 'image',
        type: 'ociImage',
        access: { type: 'ociRegistry', imageReference: `${open.url}/else/image:1.0.0` },
      },
    ]
    const resources = [localBlobOf('local', 'text', blob, 'text/plain'), ...artefacts]
    const references = [reference('db', 'example.com/db', '2.0.0')]
    const prefix = await pushed({ descriptor: descriptorV3(NAME, '1.0.0', { resources, references }), blobs: [blob] })
    await pushComponent(open, { prefix, descriptor: descriptorV2('example.com/db', '2.0.0') })
    const artifact = { tag: '1.0.0', config: '{}', configType: 'application/json' }
    const content = { content: layer, mediaType: 'text/x-note' }
    await pushArtifact(open, { ...artifact, repository: 'else/where', layers: [content] })
    await pushArtifact(open, {
      ...artifact,
      repository: 'else/image',
      layers: [content, { ...content, content: blob }],
    })
    const scope = await resolve({ registry: `${open.url}/${prefix}` })
    expect(scope.all.map(({ name }) => name)).toEqual([NAME, 'example.com/db'])
    // `contentOf` returns `MEDIA_TYPE: CONTENT`. An ociBlob has no media type.
    expect(await contentOf(scope, 'cd://resources/local')).toBe('text/plain: of the component')
    expect(await contentOf(scope, 'cd://resources/blob')).toBe(': an artefact')
    expect(await contentOf(scope, 'cd://resources/artefact')).toBe('text/x-note: an artefact')
    const many = await errorOf(contentOf(scope, 'cd://resources/image'))
    expect(many.message).toContain('found 2 layers; expected an artefact with one, the content')
  })

  it('is readable only with credentials that the registry accepts, also from a pull secret', async () => {
    const prefix = await pushed({ descriptor: plain })
    const asking = { registry: `${basic.url}/${prefix}` }
    const auth = Buffer.from(`${READER.username}:${READER.password}`).toString('base64')
    const secret = readDockerConfig({ auths: { [`${basic.host}/${prefix}`]: { auth } } }, 'it', 'config.json')
    expect((await resolve({ ...asking, credential: READER })).own.name).toBe(NAME)
    expect((await resolve({ ...asking, entries: secret })).own.name).toBe(NAME)
    const wrong = await errorOf(resolve({ ...asking, credential: { ...READER, password: 'mistyped' } }))
    expect(wrong).toMatchObject({
      code: 'RegistryDenied',
      message: expect.stringContaining(
        'the registry denies access with the configured credentials (401); add credentials with pull rights',
      ) as string,
    })
    expect(wrong.message).not.toContain('mistyped')
    expect(await errorOf(resolve(asking))).toMatchObject({ code: 'RegistryDenied' })
  })

  it('is not served from the cache to callers without valid credentials', async () => {
    const prefix = await pushed({ descriptor: plain })
    const asking = { registry: `${basic.url}/${prefix}`, registries: opened() }
    await resolve({ ...asking, credential: READER })
    expect(await errorOf(resolve(asking))).toMatchObject({ code: 'RegistryDenied' })
    expect(await errorOf(resolve({ ...asking, credential: { username: 'reader', password: 'no' } }))).toMatchObject({
      code: 'RegistryDenied',
    })
  })

  it('is read once for all namespaces; the tag is read again after 1 minute, everything after 1 hour', async () => {
    const prefix = await pushed({ descriptor: plain })
    // The cache keeps a tag for 30 s, and content with a digest for 10 minutes. A component takes three requests: the
    // manifest by its tag, the config and the descriptor.
    const asked: string[] = []
    const proxy = await server((request, response) => {
      asked.push(request.url?.split('/').slice(-2).join('/').slice(0, 16) ?? '')
      response.writeHead(307, { location: `${open.url}${request.url ?? ''}` }).end()
    })
    let nowMs = Date.now()
    const registries = opened({}, LISTED, () => new Date(nowMs))
    const asking = { registry: `${proxy}/${prefix}`, registries }
    await resolve(asking)
    await resolve({ ...asking, namespace: 'other' })
    expect(asked).toHaveLength(3)
    nowMs += 60_000
    await resolve(asking)
    expect(asked.slice(3)).toEqual(['manifests/1.0.0'])
    nowMs += 3_600_000
    await resolve(asking)
    expect(asked).toHaveLength(7)
  })

  it('fails with ComponentNotFound when the registry does not have it', async () => {
    const missing = await errorOf(resolve({ registry: `${open.url}/nothing` }))
    expect(missing).toEqual({
      code: 'ComponentNotFound',
      message: `spec.componentDescriptor.ref: ${open.url}/nothing/component-descriptors/${NAME}:1.0.0 does not exist in the registry; correct the name or version, or push it`,
    })
  })
})

describe('a registry', () => {
  it('is refused at a loopback or link-local address, or without TLS', async () => {
    const ask = (registry: string, allow: readonly string[] = []) =>
      errorOf(resolve({ registry, registries: opened({}, allow) }))
    expect(await ask(open.url)).toMatchObject({
      code: 'RegistryNotAllowed',
      message: expect.stringContaining('does not use TLS') as string,
    })
    const here = { code: 'RegistryNotAllowed', message: expect.stringContaining('a loopback address') as string }
    expect(await ask(`https://${open.host}`)).toMatchObject(here)
    expect(await ask(`https://localhost:${new URL(open.url).port}`)).toMatchObject(here)
    // The rule also applies to redirects and to the token server that a registry names.
    const redirecting = await server(
      (_, response) => void response.writeHead(307, { location: 'http://localhost:1/' }).end(),
    )
    expect(await ask(redirecting, LISTED)).toMatchObject({ code: 'RegistryNotAllowed' })
    const challenge = { 'www-authenticate': 'Bearer realm="http://169.254.169.254/token"' }
    const asking = await server((_, response) => void response.writeHead(401, challenge).end())
    expect(await ask(asking, LISTED)).toMatchObject({ code: 'RegistryNotAllowed' })
  })
})

describe('credentials', () => {
  it('that are not valid in an HTTP header end the job, and the error does not quote them', async () => {
    const registry = await server((_, response) => void response.writeHead(401).end())
    const broken = await errorOf(resolve({ registry, credential: { registryToken: 'se\ncret' } }))
    expect(broken).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
    expect(broken.message).not.toContain('cret')
  })

  it('with an invalid certificate authority make the request fail', async () => {
    for (const authority of ['nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
      const failure = await errorOf(resolve({ registry: `https://${open.host}`, credential: { authority } }))
      expect(failure.message).toContain('registry https://127.0.0.1')
    }
  })
})
