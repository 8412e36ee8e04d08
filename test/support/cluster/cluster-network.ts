// The network of the test cluster, without privileges: each address of a pod or Service is also an address of the loopback
// device, on which any process can listen. Endpoints do not accept loopback addresses, and the API server does not
// connect to them, so objects contain the addresses of the cluster.
//
//   N1. Pods: 10.128.0.0/10 in objects, 127.64.0.0/10 on this machine. Services: 10.96.0.0/16 and 127.160.0.0/16.

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** N1: the bits in which the second numbers of both addresses differ. */
const MASK = 0b1100_0000

/** The address on this machine; an address that is not of the cluster is unchanged. */
export function loopbackAddress(address: string): string {
  const [first, second = 0, ...more] = address.split('.').map(Number)
  const isOfCluster = first === 10 && (second === 96 || second >> 6 === 2)
  return isOfCluster ? [127, second ^ MASK, ...more].join('.') : address
}

/** The reverse of `loopbackAddress`. */
export function clusterAddress(address: string): string {
  const [first, second = 0, ...more] = address.split('.').map(Number)
  const isOfCluster = first === 127 && (second === 160 || second >> 6 === 1)
  return isOfCluster ? [10, second ^ MASK, ...more].join('.') : address
}

/** Serves the connections of the API server to pods and Services, at a Unix socket. @returns a function that ends it. */
export async function serveClusterProxy(path: string): Promise<() => Promise<void>> {
  const open = new Set<Duplex>()
  const server = createServer()
  server.on('connect', ({ url = '' }: IncomingMessage, client: Duplex) => {
    open.add(client)
    client.on('close', () => open.delete(client))
    const [, host = '', port] = /^\[?([^\]]+)\]?:(\d+)$/.exec(url) ?? []
    const target = connect({ host: loopbackAddress(host), port: Number(port) })
    const refuse = ({ message }: Error) => client.end(`HTTP/1.1 502 ${message}\r\n\r\n`)
    target.once('error', refuse)
    target.once('connect', () => {
      target.off('error', refuse)
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      joinSockets(client, target)
    })
    client.on('error', () => target.destroy())
  })
  server.listen(path)
  await once(server, 'listening')
  return async () => {
    for (const client of open) client.destroy()
    server.close()
    await once(server, 'close')
  }
}

/** Forwards data in both directions until both sides have ended, or one has failed. */
export function joinSockets(one: Duplex, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
}
