// The HTTP call to the platform, which a server in the test answers.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { announce } from '../../../examples/app/announcements.activities.ts'

const news = { app: 'default/shop', reason: 'RolledOut', message: 'all there' }
const received: { readonly key: unknown; readonly body: unknown }[] = []
let answer = 200
const server = createServer((request, response) => {
  void text(request).then((body) => {
    received.push({ key: request.headers['idempotency-key'], body: JSON.parse(body) })
    response.writeHead(answer).end()
  })
})

beforeEach(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('APP_ANNOUNCEMENTS_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  answer = 200
})
afterEach(async () => {
  vi.unstubAllEnvs()
  received.splice(0)
  await new Promise((resolve) => server.close(resolve))
})

const context = {
  subject: { kind: 'App', namespace: 'default', name: 'shop', uid: 'u' },
  callID: 'w/r/1',
  attempt: 1,
  signal: new AbortController().signal,
  heartbeat: () => undefined,
  progress: undefined,
  log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
}

describe('an announcement', () => {
  it('is sent to the URL in APP_ANNOUNCEMENTS_URL with the call ID as idempotency key', async () => {
    expect(await announce(news, context)).toBe('sent')
    expect(received).toEqual([{ key: 'w/r/1', body: news }])
  })

  it('is not sent when APP_ANNOUNCEMENTS_URL is empty', async () => {
    vi.stubEnv('APP_ANNOUNCEMENTS_URL', '')
    expect(await announce(news, context)).toBe('not wanted')
    expect(received).toEqual([])
  })

  it.each([
    [503, true],
    [429, true],
    [400, false],
  ])('fails when the platform answers %i; the fault is retryable: %s', async (status, retryable) => {
    answer = status
    await expect(announce(news, context)).rejects.toMatchObject({
      code: 'NotAnnounced',
      message: `APP_ANNOUNCEMENTS_URL: the server answers with HTTP status ${status}; expected 2xx`,
      retryable,
    })
  })
})
