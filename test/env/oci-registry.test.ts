// What is read from OCI registries: real ones, and such as lie, are slow, or send us elsewhere. Source: spec/landscaper.md 1.2, 1.7; docs/security.md.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createRegistries, type Registries } from '../../activities/landscaper/components/registries.ts'
import {
  readDockerConfig,
  type RegistryCredential,
} from '../../activities/landscaper/components/registry-credentials.ts'
import { READ_LIMITS, type ReadLimits } from '../../activities/landscaper/components/registry-reads.ts'
import { resolveComponents } from '../../activities/landscaper/components/resolve-components.ts'
import { resourceAt } from '../../activities/landscaper/render/component-scope.ts'
import { data } from '../activities/landscaper/tenant-data.ts'
import { descriptorV2, descriptorV3, reference, type Entry } from '../support/component-registry.ts'
import { localBlobOf, pushArtifact, pushComponent, type PushedComponent } from '../support/oci-components.ts'
import { digestOf, OciRegistry, READER } from '../support/oci-registry.ts'

const NAME = 'example.com/shop'
const LISTED = ['127.0.0.1']
let open: OciRegistry
let basic: OciRegistry
let token: OciRegistry
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  open = await OciRegistry.start()
  basic = await OciRegistry.start({ auth: 'basic', beside: open })
  token = await OciRegistry.start({ auth: 'token', beside: open })
}, 600_000)
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(async () => {
  for (const registry of [token, basic, open]) await registry.stop()
})

interface Asking {
  readonly registry: string
  readonly credential?: RegistryCredential
  readonly version?: string
  readonly name?: string
  readonly context?: object
  readonly registries?: Registries
  readonly namespace?: string
}

function opened(
  limits: Partial<ReadLimits> = {},
  allow: readonly string[] = LISTED,
  now = () => new Date(),
): Registries {
  const registries = createRegistries({ allow, now, limits: { ...READ_LIMITS, ...limits } })
  ends.push(() => registries.close())
  return registries
}

async function resolve({
  registry,
  credential,
  version = '1.0.0',
  name = NAME,
  context,
  namespace = 'n',
  ...how
}: Asking) {
  const { hostname, port } = new URL(registry)
  const entries = credential === undefined ? [] : [{ hostname, port, path: '', credential }]
  const registries = how.registries ?? opened()
  return await resolveComponents(data, {
    definition: { ref: { componentName: name, version } },
    repositoryContext: { type: 'OCIRegistry', baseUrl: registry, ...context },
    ...{ context: 'default', registryFolder: undefined },
    registries: () => Promise.resolve(registries.of({ namespace }, [entries])),
  })
}

async function errorOf(work: Promise<unknown>): Promise<{ code?: string; type?: string; message: string }> {
  const error = (await work.then(
    () => new Error('found no failure'),
    (failure: unknown) => failure,
  )) as Error & { code?: string; type?: string }
  return { message: error.message, ...(error.code === undefined ? { type: error.type ?? '' } : { code: error.code }) }
}

let count = 0
/** A prefix of its own for each test. */
async function pushed(component: Omit<PushedComponent, 'prefix'>): Promise<string> {
  const prefix = `t${++count}`
  await pushComponent(open, { prefix, ...component })
  return prefix
}

async function contentOf(scope: Awaited<ReturnType<typeof resolve>>, uri: string): Promise<string> {
  const content = await scope.contentOf(resourceAt(scope, uri))
  return 'bytes' in content ? `${content.mediaType}: ${content.bytes.toString()}` : 'a folder'
}

/** A server that answers as it likes. */
async function server(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const made: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(made, 'listening')
  ends.push(async () => {
    made.closeAllConnections()
    await new Promise((resolve) => made.close(resolve))
  })
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`
}

/** What the open registry answers to it. */
const passedOn = ({ url = '', headers: { accept = '*/*' } }: IncomingMessage) =>
  fetch(`${open.url}${url}`, { headers: { accept } })

const plain = descriptorV2(NAME, '1.0.0')

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

  it('is found as OCM maps its name and its version', async () => {
    const hashed = createHash('sha256').update(NAME).digest('hex')
    await pushComponent(open, { repository: `hashed/${hashed}`, descriptor: descriptorV3(NAME, '1.0.0+a') })
    const context = { subPath: 'hashed', componentNameMapping: 'sha256-digest' }
    const found = await resolve({ registry: open.url, context, version: '1.0.0+a' })
    expect(found.own.version).toBe('1.0.0+a')
  })

  it('has what it refers to, and its resources, wherever in a registry they are', async () => {
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
    expect(await contentOf(scope, 'cd://resources/local')).toBe('text/plain: of the component')
    expect(await contentOf(scope, 'cd://resources/blob')).toBe(': an artefact')
    expect(await contentOf(scope, 'cd://resources/artefact')).toBe('text/x-note: an artefact')
    const many = await errorOf(contentOf(scope, 'cd://resources/image'))
    expect(many.message).toContain('found 2 layers, expected an artefact with one, the content')
  })

  it('is for those who are let in', async () => {
    const prefix = await pushed({ descriptor: plain })
    for (const [registry, code] of [
      [basic, 401],
      [token, 401],
    ] as const) {
      const asking = { registry: `${registry.url}/${prefix}` }
      expect((await resolve({ ...asking, credential: READER })).own.name).toBe(NAME)
      const wrong = await errorOf(resolve({ ...asking, credential: { ...READER, password: 'mistyped' } }))
      expect(wrong).toMatchObject({
        code: 'RegistryDenied',
        message: expect.stringContaining(`for it (${code})`) as string,
      })
      expect(wrong.message).not.toContain('mistyped')
      expect(await errorOf(resolve(asking))).toMatchObject({ code: 'RegistryDenied' })
    }
  })

  it('is not given from what is kept to whoever was not let in', async () => {
    const prefix = await pushed({ descriptor: plain })
    const asking = { registry: `${basic.url}/${prefix}`, registries: opened() }
    await resolve({ ...asking, credential: READER })
    expect(await errorOf(resolve(asking))).toMatchObject({ code: 'RegistryDenied' })
    expect(await errorOf(resolve({ ...asking, credential: { username: 'reader', password: 'no' } }))).toMatchObject({
      code: 'RegistryDenied',
    })
  })

  it('is read once by those who may, and a tag anew after a while', async () => {
    const prefix = await pushed({ descriptor: plain })
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

  it('is told when it is not there', async () => {
    const missing = await errorOf(resolve({ registry: `${open.url}/nothing` }))
    expect(missing).toEqual({
      code: 'ComponentNotFound',
      message: `spec.componentDescriptor.ref: ${open.url}/nothing/component-descriptors/${NAME}:1.0.0: the registry has none`,
    })
  })
})

describe('what a registry answers', () => {
  it('is refused when it is something else than what was asked for', async () => {
    const prefix = await pushed({ descriptor: plain })
    const lying = await server((request, response) => {
      void passedOn(request).then(async (real) => {
        const bytes = Buffer.from(await real.arrayBuffer())
        if (request.url?.includes('/blobs/') === true) bytes[bytes.length - 1] = 0
        response.end(bytes)
      })
    })
    expect(await errorOf(resolve({ registry: `${lying}/${prefix}` }))).toMatchObject({
      code: 'UntrustedContent',
      message: expect.stringContaining('found content with the digest sha256:') as string,
    })
    await pushComponent(open, { prefix, descriptor: descriptorV2(NAME, '2.0.0'), tag: '3.0.0' })
    expect(await errorOf(resolve({ registry: `${open.url}/${prefix}`, version: '3.0.0' }))).toMatchObject({
      code: 'UntrustedContent',
      message: expect.stringContaining(
        `found the descriptor of ${NAME}:2.0.0, expected that of ${NAME}:3.0.0`,
      ) as string,
    })
  })

  it('is refused when it is longer than it may be', async () => {
    const endless = await server((_, response) => {
      const write = (): void => {
        while (response.write(Buffer.alloc(65_536, ' ')));
      }
      response.on('drain', write)
      write()
    })
    expect(await errorOf(resolve({ registry: endless }))).toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: expect.stringContaining(`found more than ${4 * 1024 * 1024} bytes`) as string,
    })
  })

  it('gets no credentials where a redirect leads', async () => {
    const prefix = await pushed({ descriptor: plain })
    const seen: (string | undefined)[] = []
    const elsewhere = await server((request, response) => {
      seen.push(request.headers.authorization)
      void passedOn(request).then(async (real) => response.end(Buffer.from(await real.arrayBuffer())))
    })
    const registry = await server(({ headers, url }, response) => {
      if (headers.authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
      else response.writeHead(307, { location: `${elsewhere}${url ?? ''}` }).end()
    })
    expect((await resolve({ registry: `${registry}/${prefix}`, credential: READER })).own.name).toBe(NAME)
    expect(seen).toEqual([undefined, undefined, undefined])
    const round = await server((_, response) => void response.writeHead(302, { location: '/again' }).end())
    expect((await errorOf(resolve({ registry: round }))).message).toContain('found more than 5 redirects')
  })

  // As CVE-2020-15157: whoever keeps the blobs may not name who gets the credentials.
  it('is no challenge where a redirect leads, so that nobody there names who is given credentials', async () => {
    const seen: (string | undefined)[] = []
    const thief = await server(({ headers }, response) => {
      seen.push(headers.authorization)
      response.end('{"token":"x"}')
    })
    const challenge = { 'www-authenticate': `Bearer realm="${thief}/token",service="s"` }
    const elsewhere = await server((_, response) => void response.writeHead(401, challenge).end())
    const registry = await server((_, response) => void response.writeHead(307, { location: elsewhere }).end())
    expect(await errorOf(resolve({ registry, credential: READER }))).toMatchObject({ code: 'RegistryDenied' })
    expect(seen).toEqual([])
  })

  it('is no address of other protocols for tokens', async () => {
    const challenge = { 'www-authenticate': 'Bearer realm="data:text/plain,x"' }
    const registry = await server((_, response) => void response.writeHead(401, challenge).end())
    expect(await errorOf(resolve({ registry }))).toMatchObject({ code: 'RegistryDenied' })
  })

  it('keeps nobody else out when it fails late for one namespace, and nobody asks again', async () => {
    const failing: ServerResponse[] = []
    const late = await server((_, response) => void failing.push(response))
    const registries = opened({ waitMs: 0, reads: 2 })
    for (const version of ['1', '2', '3', '4']) {
      const waiting = errorOf(resolve({ registry: late, registries, version }))
      expect((await waiting).message).toContain('not there after')
      failing.pop()?.writeHead(403).end()
      await expect.poll(() => failing.length).toBe(0)
      await sleep(100)
    }
    const prefix = await pushed({ descriptor: plain })
    const asking = { registry: `${open.url}/${prefix}`, registries, namespace: 'other' }
    await expect.poll(async () => (await resolve(asking)).own.name, { timeout: 30_000 }).toBe(NAME)
  })

  it('is read on without the pass that has asked, for whoever asks again', async () => {
    const prefix = await pushed({ descriptor: plain })
    let release = (): void => undefined
    const slow = await server((request, response) => {
      release = () => {
        release = () => undefined
        response.writeHead(307, { location: `${open.url}${request.url ?? ''}` }).end()
      }
    })
    const asking = { registry: `${slow}/${prefix}`, registries: opened({ waitMs: 50 }) }
    const late = await errorOf(resolve(asking))
    expect(late).toMatchObject({
      type: 'RegistryUnavailable',
      message: expect.stringContaining('not there after') as string,
    })
    release()
    // The manifest has come; now it is the config's turn.
    await expect
      .poll(async () => {
        const outcome = await resolve(asking).then(
          ({ own }) => own.name,
          () => 'waits',
        )
        release()
        return outcome
      })
      .toBe(NAME)
  })

  it('is not waited for by more than a few readings of a namespace', async () => {
    const silent = await server(() => undefined)
    const registries = opened({ waitMs: 100, readsOfNamespace: 2, readMs: 3000 })
    const ask = (version: string, namespace?: string) =>
      errorOf(resolve({ registry: silent, registries, version, ...(namespace !== undefined && { namespace }) }))
    await Promise.all([ask('1'), ask('2')])
    expect((await ask('3')).message).toContain('found 2 readings of this namespace')
    expect((await ask('3', 'other')).message).toContain('not there after')
    // They end by themselves, and make room.
    await expect.poll(async () => (await ask('4')).message).toContain('not there after')
  })

  it('is none of a server that is away, which is asked again', async () => {
    expect(await errorOf(resolve({ registry: 'http://127.0.0.1:1' }))).toEqual({
      type: 'RegistryUnavailable',
      message: 'registry http://127.0.0.1:1: found no answer (ECONNREFUSED); it is asked again',
    })
    const busy = await server((_, response) => void response.writeHead(503).end())
    expect((await errorOf(resolve({ registry: busy }))).message).toContain('found no answer (status 503)')
  })
})

describe('a registry', () => {
  it('is refused where it is at this machine, or without TLS', async () => {
    const ask = (registry: string, allow: readonly string[] = []) =>
      errorOf(resolve({ registry, registries: opened({}, allow) }))
    expect(await ask(open.url)).toMatchObject({
      code: 'RegistryNotAllowed',
      message: expect.stringContaining('is spoken to without TLS') as string,
    })
    const here = { code: 'RegistryNotAllowed', message: expect.stringContaining('a loopback address') as string }
    expect(await ask(`https://${open.host}`)).toMatchObject(here)
    expect(await ask(`https://localhost:${new URL(open.url).port}`)).toMatchObject(here)
    // Nor does it lead there: by a redirect, or for a token.
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
  it('that no request takes end the job, and are not quoted', async () => {
    const registry = await server((_, response) => void response.writeHead(401).end())
    const broken = await errorOf(resolve({ registry, credential: { registryToken: 'se\ncret' } }))
    expect(broken).toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
    expect(broken.message).not.toContain('cret')
  })

  it('with an authority that is none let nobody be trusted', async () => {
    for (const authority of ['nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
      const failure = await errorOf(resolve({ registry: `https://${open.host}`, credential: { authority } }))
      expect(failure.message).toContain('registry https://127.0.0.1')
    }
  })
})

describe('a pull secret', () => {
  it('lets in by what it has for the registry', async () => {
    const prefix = await pushed({ descriptor: plain })
    const auth = Buffer.from(`${READER.username}:${READER.password}`).toString('base64')
    const entries = readDockerConfig({ auths: { [`${basic.host}/${prefix}`]: { auth } } }, 'it', 'config.json')
    const registries = opened()
    const scope = await resolveComponents(data, {
      definition: { ref: { componentName: NAME, version: '1.0.0' } },
      repositoryContext: { type: 'ociRegistry', baseUrl: `${basic.url}/${prefix}` },
      ...{ context: 'default', registryFolder: undefined },
      registries: () => Promise.resolve(registries.of({ namespace: 'n' }, [entries])),
    })
    expect(scope.own.name).toBe(NAME)
  })
})
