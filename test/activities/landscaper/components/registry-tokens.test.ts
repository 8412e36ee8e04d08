// The scope of the tokens that Pawl requests for a registry. Source: activities/landscaper/components/registry-client.ts A2; with real registries:
// test/env/oci-registry.test.ts.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'

import { createRegistries } from '../../../../activities/landscaper/components/registries.ts'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import { data } from '../tenant-data.ts'

const NAME = 'example.com/shop'
const credential = { username: 'reader', password: 'let-me-in' }
const registries = createRegistries({ allow: ['127.0.0.1'], now: () => new Date() })
let server: Server
afterEach(async () => {
  await registries.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('a token request for a registry', () => {
  it('has only the pull scope of the one repository, even when the registry demands other scopes', async () => {
    const scopes: string[] = []
    server = createServer(({ url = '', headers: { host = '' } }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://registry')
      if (pathname === '/token') {
        scopes.push(...searchParams.getAll('scope'))
        response.end('{"token":"x"}')
        return
      }
      const scope = 'repository:other:pull,push registry:catalog:*'
      const challenge = `Bearer realm="http://${host}/token",service="s",scope="${scope}"`
      response.writeHead(401, { 'www-authenticate': challenge }).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const entries = [{ hostname: '127.0.0.1', port: String(port), path: '', credential }]
    const resolving = resolveComponents(data, {
      definition: { ref: { componentName: NAME, version: '1.0.0' } },
      repositoryContext: { type: 'OCIRegistry', baseUrl: `http://127.0.0.1:${port}/acme` },
      context: 'default',
      registryFolder: undefined,
      registries: () => Promise.resolve(registries.of({ namespace: 'n' }, [entries])),
    })
    await expect(resolving).rejects.toMatchObject({ code: 'RegistryDenied' })
    expect(scopes).not.toEqual([])
    expect([...new Set(scopes)]).toEqual([`repository:acme/component-descriptors/${NAME}:pull`])
  })
})
