// Acts as a container in tests of disruptions: reads one command per line from standard input, as JSON, and answers
// each command with one line.
//
// Plain JavaScript without imports from this project, because it runs as a separate program in another network
// namespace and control group.

import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

/** The number of received datagrams by port. */
const came = new Map()

const DEEDS = {
  /** Counts the datagrams that arrive at these ports. */
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
  /** Sends this number of bytes on each connection. */
  async serve({ port, bytes }) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end(Buffer.alloc(bytes))
    })
    server.listen(port)
    await once(server, 'listening')
  },
  /** Reads from a connection for at most `withinMs`. Returns the number of bytes and the elapsed milliseconds. */
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
  /** Writes to a file with O_DIRECT, without the page cache. Returns the elapsed milliseconds. */
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

// Exits at SIGTERM, like an application with a graceful shutdown.
process.on('SIGTERM', () => process.exit(7))

for await (const line of createInterface({ input: process.stdin })) {
  const { deed, ...told } = JSON.parse(line)
  process.stdout.write(`${JSON.stringify((await DEEDS[deed](told)) ?? {})}\n`)
}
