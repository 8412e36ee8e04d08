// A client that does not wait long for a server that is silent.

import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKubeClient, type KubeClient } from '../../../activities/kube/client.ts'
import { withDeadline } from '../../../activities/kube/client-with-deadline.ts'
import { ScriptedServer } from '../../support/servers/scripted-server.ts'

let server: ScriptedServer
let kube: KubeClient
let answer: (response: ServerResponse) => void
let asked = 0

beforeEach(async () => {
  asked = 0
  answer = () => undefined
  server = await ScriptedServer.start((_request, response) => {
    asked++
    answer(response)
  })
  kube = createKubeClient({ kubeconfig: server.kubeconfig })
})
afterEach(async () => {
  await kube.close()
  await server.stop()
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
