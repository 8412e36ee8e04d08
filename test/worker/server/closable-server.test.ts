import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'

import { closableServer } from '../../../worker/server/closable-server.ts'

const LONG_MS = 3_600_000

async function start(listener: RequestListener, longestMs = LONG_MS) {
  const server = createServer(listener)
  const close = closableServer(server, longestMs)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const client = connect(port, '127.0.0.1')
    await Promise.all([once(client, 'connect'), once(server, 'connection')])
    return client
  }
  return { server, close, open }
}

describe('the end of a server', () => {
  it('does not wait for a connection without a request, or one whose request was answered', async () => {
    const { close, open } = await start((_, response) => response.end('done'))
    const [unused, used] = [await open(), await open()]
    used.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(used, 'data')
    await Promise.all([close(), once(unused, 'close'), once(used, 'close')])
  })

  it('waits for the answer of a request that has begun', async () => {
    const { server, close, open } = await start((_, response) => void closed.then(() => response.end('done')))
    const client = await open()
    client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(server, 'request')
    const end = close()
    begin()
    expect(await text(client)).toMatch(/done/)
    await end
  })

  it('closes the connection of a request that takes too long', async () => {
    const { server, close, open } = await start(() => undefined, 1)
    const client = await open()
    client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(server, 'request')
    await close()
    expect(await text(client)).toBe('')
  })
})

let begin: () => void
const closed = new Promise<void>((resolve) => {
  begin = resolve
})
