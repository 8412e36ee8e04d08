// Reading from OCI registries that lie, are slow, or redirect to another server. Source: spec/landscaper.md 1.2, 1.7;
// docs/concepts/security.md.

import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { descriptorV2 } from '../support/registries/component-registry.ts'
import { pushComponent } from '../support/registries/oci-components.ts'
import { READER } from '../support/registries/oci-registry.ts'
import {
  NAME,
  errorOf,
  open,
  opened,
  passedOn,
  plain,
  pushed,
  resolve,
  server,
  useOpenRegistry,
} from './registry-stage.ts'

useOpenRegistry()

describe('an answer of a registry', () => {
  it('is refused when its digest or its component is not the requested one', async () => {
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
        `found the descriptor of "${NAME}:2.0.0"; expected the descriptor of "${NAME}:3.0.0"`,
      ) as string,
    })
  })

  it('is refused when it is longer than the limit', async () => {
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

  it('that is a redirect does not send the credentials to the other server', async () => {
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

  // CVE-2020-15157: a server that stores blobs must not choose the server that receives the credentials.
  it('is not used as an authentication challenge when it comes from the server behind a redirect', async () => {
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

  it('that demands a token gets one with only the pull scope of the one repository, even when it demands other scopes', async () => {
    const prefix = await pushed({ descriptor: plain })
    const reader = `Basic ${Buffer.from(`${READER.username}:${READER.password}`).toString('base64')}`
    const scopes: string[] = []
    const registry = await server((request, response) => {
      const { url = '', headers } = request
      const { pathname, searchParams } = new URL(url, 'http://registry')
      const realm = `http://${headers.host ?? ''}/token`
      const challenge = `Bearer realm="${realm}",service="s",scope="repository:other:pull,push registry:catalog:*"`
      scopes.push(...searchParams.getAll('scope'))
      if (pathname === '/token') response.writeHead(headers.authorization === reader ? 200 : 401).end('{"token":"x"}')
      else if (headers.authorization !== 'Bearer x') response.writeHead(401, { 'www-authenticate': challenge }).end()
      else void passedOn(request).then(async (real) => response.end(Buffer.from(await real.arrayBuffer())))
    })
    const asking = { registry: `${registry}/${prefix}` }
    expect((await resolve({ ...asking, credential: READER })).own.name).toBe(NAME)
    expect([...new Set(scopes)]).toEqual([`repository:${prefix}/component-descriptors/${NAME}:pull`])
    const wrong = resolve({ ...asking, credential: { ...READER, password: 'mistyped' } })
    expect(await errorOf(wrong)).toMatchObject({ code: 'RegistryDenied' })
  })

  it('is refused when its token address is neither HTTP nor HTTPS', async () => {
    const challenge = { 'www-authenticate': 'Bearer realm="data:text/plain,x"' }
    const registry = await server((_, response) => void response.writeHead(401, challenge).end())
    expect(await errorOf(resolve({ registry }))).toMatchObject({ code: 'RegistryDenied' })
  })

  it('that fails after the caller has stopped waiting does not block the reads of other namespaces', async () => {
    const failing: ServerResponse[] = []
    const late = await server((_, response) => void failing.push(response))
    const registries = opened({ waitMs: 0, reads: 2 })
    for (const version of ['1', '2', '3', '4']) {
      const waiting = errorOf(resolve({ registry: late, registries, version }))
      expect((await waiting).message).toContain('not loaded after')
      failing.pop()?.writeHead(403).end()
      await expect.poll(() => failing.length).toBe(0)
      await sleep(100)
    }
    const prefix = await pushed({ descriptor: plain })
    const asking = { registry: `${open.url}/${prefix}`, registries, namespace: 'other' }
    await expect.poll(async () => (await resolve(asking)).own.name, { timeout: 30_000 }).toBe(NAME)
  })

  it('is read to its end after the pass has stopped waiting, and a later pass gets it', async () => {
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
      message: expect.stringContaining('not loaded after') as string,
    })
    release()
    // The registry has answered the request for the manifest; the request for the config follows.
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

  it('is awaited by a limited number of reads per namespace', async () => {
    const silent = await server(() => undefined)
    const registries = opened({ waitMs: 100, readsOfNamespace: 2, readMs: 2000 })
    const ask = (version: string, namespace?: string) =>
      errorOf(resolve({ registry: silent, registries, version, ...(namespace !== undefined && { namespace }) }))
    await Promise.all([ask('1'), ask('2')])
    expect((await ask('3')).message).toContain('found 2 downloads of this namespace')
    expect((await ask('3', 'other')).message).toContain('not loaded after')
    // Both reads end after their time limit, and then other reads may start.
    await expect.poll(async () => (await ask('4')).message).toContain('not loaded after')
  })

  it('that does not arrive is retried; status 503 counts as no answer', async () => {
    expect(await errorOf(resolve({ registry: 'http://127.0.0.1:1' }))).toEqual({
      type: 'RegistryUnavailable',
      message: 'registry http://127.0.0.1:1: no answer (ECONNREFUSED); Pawl retries',
    })
    const busy = await server((_, response) => void response.writeHead(503).end())
    expect((await errorOf(resolve({ registry: busy }))).message).toContain('no answer (status 503)')
  })
})
