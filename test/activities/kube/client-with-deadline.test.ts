// A client that does not wait long for a server that is silent.

import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKubeClient, type KubeClient } from '../../../activities/kube/client.ts'
import { withDeadline } from '../../../activities/kube/client-with-deadline.ts'

let server: Server
let kube: KubeClient
let answer: (response: ServerResponse) => void
let asked = 0

beforeEach(async () => {
  asked = 0
  answer = () => undefined
  server = createServer((_request, response) => {
    asked++
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  kube = createKubeClient({
    kubeconfig: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      users: [{ name: 'u', user: {} }],
      clusters: [{ name: 'c', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    }),
  })
})
afterEach(async () => {
  await kube.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const LATE = { status: 0, reason: 'Unreachable', message: 'PATCH /x: no answer: none in time' }

describe('a client with a deadline', () => {
  it('returns the answers of a fast server', async () => {
    answer = (response) => response.end('{"a":1}')
    expect(await withDeadline(kube, { requestMs: 10_000, totalMs: 10_000 }).request('GET', '/x')).toEqual({ a: 1 })
  })

  it('aborts a request without a complete answer in time', async () => {
    const brief = withDeadline(kube, { requestMs: 50, totalMs: 10_000 })
    await expect(brief.request('PATCH', '/x', { body: {} })).rejects.toMatchObject(LATE)
    answer = (response) => {
      response.writeHead(200)
      response.write('{"a":')
    }
    await expect(brief.request('PATCH', '/x', { body: {} })).rejects.toMatchObject(LATE)
  })

  it('sends no request after the deadline', async () => {
    const brief = withDeadline(kube, { requestMs: 10_000, totalMs: 1000 })
    await expect(brief.request('PATCH', '/x', { body: {} })).rejects.toMatchObject(LATE)
    await expect(brief.request('PATCH', '/x', { body: {} })).rejects.toMatchObject(LATE)
    expect(asked).toBe(1)
  })

  it('rethrows the error of a request that the caller aborted', async () => {
    const end = new AbortController()
    const asking = withDeadline(kube, { requestMs: 10_000, totalMs: 10_000 }).request('GET', '/x', {
      signal: end.signal,
    })
    end.abort(new Error('no longer wanted'))
    await expect(asking).rejects.toThrow('no longer wanted')
  })
})
