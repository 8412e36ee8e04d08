// Stands for a container in tests of disruptions: does what it is told on its standard input, a line of JSON each, and answers with a line.
//
// JavaScript without imports of ours: it runs as a program of its own, in another network and another control group.

import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** Datagrams that have come, by port. */
const came = new Map()

const DEEDS = {
  /** Counts datagrams that come to ports. */
  async count({ ports }) {
    for (const port of ports) {
      const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 })
      came.set(port, 0)
      socket.on('message', () => came.set(port, came.get(port) + 1))
      socket.bind(port)
      await once(socket, 'listening')
    }
  },
  async counted() {
    const found = Object.fromEntries(came)
    for (const port of came.keys()) came.set(port, 0)
    return found
  },
  async send({ ip, port, times }) {
    const socket = createSocket('udp4')
    for (let sent = 0; sent < times; sent += 1)
      await new Promise((resolve) => socket.send(Buffer.from('x'), port, ip, resolve))
    socket.close()
  },
  /** Serves so many bytes to whoever connects. */
  async serve({ port, bytes }) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end(Buffer.alloc(bytes))
    })
    server.listen(port)
    await once(server, 'listening')
  },
  /** How many bytes come of a connection in so many milliseconds at most, and in how many they came. */
  async fetch({ ip, port, withinMs }) {
    const start = performance.now()
    const socket = connect(port, ip)
    let bytes = 0
    socket.on('data', (chunk) => (bytes += chunk.length))
    const timer = setTimeout(() => socket.destroy(), withinMs)
    await new Promise((resolve) => socket.once('close', resolve).once('error', resolve))
    clearTimeout(timer)
    socket.destroy()
    return { bytes, ms: performance.now() - start }
  },
  /** Writes to a file past all caches. */
  async write({ path, bytes }) {
    const start = performance.now()
    const block = 256 * 1024
    await promisify(execFile)('dd', [
      'if=/dev/zero',
      `of=${path}`,
      `bs=${block}`,
      `count=${bytes / block}`,
      'oflag=direct',
    ])
    return { ms: performance.now() - start }
  },
  async resolve({ server, name }) {
    const resolver = new Resolver({ timeout: 3000, tries: 2 })
    resolver.setServers([server])
    return await resolver.resolve4(name).catch((error) => error.code)
  },
}

// As an application that ends well when it is asked to.
process.on('SIGTERM', () => process.exit(7))

for await (const line of createInterface({ input: process.stdin })) {
  const { deed, ...told } = JSON.parse(line)
  process.stdout.write(`${JSON.stringify((await DEEDS[deed](told)) ?? {})}\n`)
}
