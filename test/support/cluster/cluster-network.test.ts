import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { clusterAddress, loopbackAddress, serveClusterProxy } from './cluster-network.ts'
import { type EndpointSlice, readyTargets } from './service-proxy.ts'

describe('an address of the test cluster', () => {
  it.each([
    ['10.128.0.1', '127.64.0.1'],
    ['10.191.255.254', '127.127.255.254'],
    ['10.96.0.10', '127.160.0.10'],
  ])('%s is %s on this machine', (address, onLoopback) => {
    expect(loopbackAddress(address)).toBe(onLoopback)
    expect(clusterAddress(onLoopback)).toBe(address)
  })

  it.each(['10.244.0.7', '10.95.0.1', '10.192.0.1', '192.168.96.1', '127.0.0.1', '127.128.0.1', '::1'])(
    'is unchanged if it is another one: %s',
    (address) => {
      expect(loopbackAddress(address)).toBe(address)
      expect(clusterAddress(address)).toBe(address)
    },
  )
})

describe('the proxy of the API server', () => {
  let folder: string
  let stop: () => Promise<void>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-network-'))
    stop = await serveClusterProxy(join(folder, 'socket'))
  })
  afterAll(async () => {
    await stop()
    await rm(folder, { recursive: true })
  })

  const connectTo = async (address: string) => {
    const call = request({ socketPath: join(folder, 'socket'), method: 'CONNECT', path: address }).end()
    return (await once(call, 'connect')) as [{ readonly statusCode: number }, Socket]
  }

  it('forwards data in both directions until the pod closes the connection', async () => {
    const pod = createServer((client) => client.once('data', (data) => client.end(`got ${data.toString()}`)))
    pod.listen(0, '127.64.0.9')
    await once(pod, 'listening')
    const [{ statusCode }, socket] = await connectTo(`10.128.0.9:${(pod.address() as AddressInfo).port}`)
    expect(statusCode).toBe(200)
    socket.write('ping')
    expect(await text(socket)).toBe('got ping')
    pod.close()
  })

  it('answers 502 if no process listens', async () => {
    expect((await connectTo('10.128.0.9:1'))[0].statusCode).toBe(502)
  })
})

it('a port of a Service leads to the ready endpoints of the slices of this Service', () => {
  const endpoint = (address: string, ready: boolean) => ({ addresses: [address], conditions: { ready } })
  const slice = (service: string, endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { name: service, labels: { 'kubernetes.io/service-name': service } },
    endpoints,
    ports: [
      { name: 'https', port: 9443 },
      { name: 'health', port: 8080 },
    ],
  })
  const slices = [
    slice('a', [endpoint('10.128.0.1', true), endpoint('10.128.0.2', false)]),
    slice('a', null),
    slice('b', [endpoint('10.128.0.3', true)]),
  ]
  expect(readyTargets('a', { name: 'https', port: 443 }, slices)).toEqual([{ host: '127.64.0.1', port: 9443 }])
  expect(readyTargets('c', { name: 'https', port: 443 }, slices)).toEqual([])
})
