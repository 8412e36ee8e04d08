// The calls to the disruption listener of an application, over HTTP/2. Source: spec/chaos.md 3.8.

import { once } from 'node:events'
import { createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { configureListener, encodeDisruption } from '../../../../activities/chaos/injector/grpc/listener.ts'
import type { EndpointAlteration } from '../../../../workflows/chaos/injector/invocation.ts'

const ALTERATIONS: readonly EndpointAlteration[] = [
  { endpoint: '/p.S/M', alteration: { error: 'UNAVAILABLE' }, percent: 25 },
  { endpoint: '/p.S/N', alteration: { override: '{}' }, percent: 0 },
  { endpoint: '/p.S/M', alteration: { error: 'NOT_FOUND' }, percent: 100 },
]

let server: Http2Server
let address: string
let calls: { readonly path: string; readonly body: string }[]
let status: string

beforeEach(async () => {
  calls = []
  status = '0'
  server = createServer()
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      calls.push({ path: String(headers[':path']), body: Buffer.concat(chunks).toString('hex') })
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': 'as%20told' }))
      stream.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  if (!server.listening) return
  server.close()
  await once(server, 'close')
})

describe('the disruption listener of an application', () => {
  it('gets the alterations of each endpoint', async () => {
    await configureListener({ do: 'listener', address, alterations: ALTERATIONS })
    const body = encodeDisruption(ALTERATIONS)
    expect(calls).toEqual([
      {
        path: '/disruptionlistener.DisruptionListener/Disrupt',
        body: `00${body.length.toString(16).padStart(8, '0')}${body.toString('hex')}`,
      },
    ])
  })

  it('gets them as protocol buffers', () => {
    // Encoded by hand, tag by tag.
    expect(encodeDisruption(ALTERATIONS.slice(1, 2)).toString('hex')).toBe('0a0e0a062f702e532f4e120412027b7d')
    expect(encodeDisruption(ALTERATIONS.slice(0, 1)).toString('hex')).toBe(
      '0a190a062f702e532f4d120f0a0b554e415641494c41424c451819',
    )
  })

  it('gets a reset', async () => {
    await configureListener({ do: 'listener', address })
    expect(calls).toEqual([{ path: '/disruptionlistener.DisruptionListener/ResetDisruptions', body: '0000000000' }])
  })

  it('causes an error with its gRPC status', async () => {
    status = '6'
    const telling = configureListener({ do: 'listener', address, alterations: ALTERATIONS })
    await expect(telling).rejects.toThrow(`Disrupt at ${address}: gRPC status 6: as told`)
  })

  it('must exist for a disruption, but not for a reset', async () => {
    status = '12'
    await configureListener({ do: 'listener', address })
    await expect(configureListener({ do: 'listener', address, alterations: ALTERATIONS })).rejects.toThrow(
      'gRPC status 12',
    )
    server.close()
    await once(server, 'close')
    await configureListener({ do: 'listener', address })
    await expect(configureListener({ do: 'listener', address, alterations: ALTERATIONS })).rejects.toThrow(
      'ECONNREFUSED',
    )
  })
})
