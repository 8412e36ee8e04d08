// A server that speaks HTTP/2, as API servers do, behind a proxy that falls silent.

import { once } from 'node:events'
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { createKubeClient, type KubeClient } from '../../../activities/kube/client.ts'
import { readMessages } from '../../../activities/kube/watch-stream.ts'
import { Authority } from '../../support/servers/certificates.ts'
import { kubeconfigTo } from '../../support/servers/scripted-server.ts'
import { TcpProxy } from '../../support/faults/tcp-proxy.ts'

const LIMITS = { pingMs: 100, silentMs: 1000 }
const DAY_MS = 86_400_000

let server: Http2SecureServer
let proxy: TcpProxy
let kube: KubeClient
let watches: ServerHttp2Stream[]
let pings: number
beforeEach(async () => {
  const authority = await Authority.make('cluster')
  watches = []
  pings = 0
  server = createSecureServer(await authority.issue('cluster.test'))
  server.on('session', (session) => {
    session.on('error', () => undefined)
    session.on('ping', () => void (pings += 1))
  })
  server.on('stream', (stream, { ':path': path }) => {
    stream.on('error', () => undefined)
    stream.respond({ ':status': 200 })
    if (path?.startsWith('/watch') === true) watches.push(stream)
    else if (path !== '/never') stream.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy = await TcpProxy.to((server.address() as AddressInfo).port)
  kube = createKubeClient({ kubeconfig: kubeconfig(authority.cert), silence: LIMITS })
})
afterEach(async () => {
  await kube.close()
  await proxy.stop()
  server.close()
})

function kubeconfig(ca: string): string {
  const cluster = {
    server: `https://127.0.0.1:${proxy.port}`,
    'tls-server-name': 'cluster.test',
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  }
  return kubeconfigTo(cluster)
}

async function watch(): Promise<AsyncIterator<unknown>> {
  const { body } = await kube.stream('/watch', new AbortController().signal)
  // The watchdog, which counts bookmarks, would take a day.
  return readMessages(body, DAY_MS, () => undefined)
}

const bookmark = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } })}\n`

describe('an API server that falls silent', () => {
  it('is noticed by a watch, and the next watch uses another connection', async () => {
    const messages = await watch()
    watches[0]?.write(bookmark)
    expect((await messages.next()).value).toEqual({ type: 'bookmark', resourceVersion: 7 })
    expect(proxy.fallSilent()).toBe(1)
    await expect(messages.next()).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    const next = await watch()
    watches[1]?.write(bookmark)
    expect((await next.next()).value).toEqual({ type: 'bookmark', resourceVersion: 7 })
  })

  it('is noticed by a request before its timeout', async () => {
    expect(await kube.request('GET', '/api')).toEqual({})
    proxy.fallSilent()
    await expect(kube.request('GET', '/api')).rejects.toThrow('the server sent nothing for 1000 ms')
    expect(await kube.request('GET', '/api')).toEqual({})
  })

  it('is not assumed while it answers pings, or while this process does not run', async () => {
    const messages = await watch()
    const told = messages.next()
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * LIMITS.silentMs)
    await expect.poll(() => pings).toBeGreaterThan((1.5 * LIMITS.silentMs) / LIMITS.pingMs)
    watches[0]?.write(bookmark)
    expect((await told).value).toEqual({ type: 'bookmark', resourceVersion: 7 })
  })
})
