// Tests that the agent checks the address of each connection. 127.0.0.2 is in the allow list and represents a public
// address; on Linux it is a loopback address too.

import { createServer, type Server } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { request } from 'undici'

import { createAddressRule } from '../../../../../activities/landscaper/deploy/target/address-rule.ts'
import { createGuardedAgent } from '../../../../../activities/landscaper/deploy/target/guarded-agent.ts'

const PUBLIC = '127.0.0.2'
const LOOPBACK = '127.0.0.1'

let server: Server
let port: number
/** The local addresses of the connections that the server has accepted. */
let met: (string | undefined)[]
const agents: ReturnType<typeof createGuardedAgent>[] = []
beforeEach(async () => {
  met = []
  server = createServer((_, response) => response.writeHead(200, { connection: 'close' }).end('{}'))
  server.on('connection', ({ localAddress }) => met.push(localAddress))
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.close()))
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** Answers each lookup with the next list of addresses, and further lookups with the last list. */
function answering(...answers: readonly (readonly string[])[]): LookupFunction & { readonly asked: string[] } {
  const asked: string[] = []
  const lookup: LookupFunction = (host, { all }, answer) => {
    const addresses = answers[Math.min(asked.push(host), answers.length) - 1] ?? []
    const found = addresses.map((address) => ({ address, family: 4 }))
    if (all === true) answer(null, found)
    else answer(null, found[0]?.address ?? '', 4)
  }
  return Object.assign(lookup, { asked })
}

/** A client of one server. @returns a function that sends a request and returns the status code. */
function client(url: string, lookup?: LookupFunction) {
  const rule = createAddressRule([`${PUBLIC}/32`])
  const access = { server: url, isInsecure: false, credentials: {} }
  const dispatcher = createGuardedAgent(access, (address) => rule.addressRefusal(url, address), lookup)
  agents.push(dispatcher)
  return async (headers: Record<string, string> = {}): Promise<number> => {
    const { statusCode, body } = await request(url, { dispatcher, headers })
    await body.dump()
    return statusCode
  }
}

const REFUSED = {
  code: 'REFUSED_ADDRESS',
  message: expect.stringContaining(`has the address ${LOOPBACK}, a loopback`) as string,
}

describe('a host name', () => {
  it('is resolved once for each connection, and refused when it next resolves to a loopback address', async () => {
    const lookup = answering([PUBLIC], [LOOPBACK])
    const ask = client(`http://rebound.example:${port}`, lookup)
    expect(await ask()).toBe(200)
    expect(lookup.asked).toEqual(['rebound.example'])
    await expect(ask()).rejects.toMatchObject(REFUSED)
    expect(met).toEqual([PUBLIC])
  })

  it.each([[[PUBLIC, LOOPBACK]], [[LOOPBACK, PUBLIC]]])(
    'with several addresses is refused when one of them is not allowed: %j',
    async (all) => {
      await expect(client(`http://mixed.example:${port}`, answering(all))()).rejects.toMatchObject(REFUSED)
      expect(met).toEqual([])
    },
  )

  it('that does not exist fails with ENOTFOUND and not with a refusal', async () => {
    const gone = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const ask = client('http://nobody.invalid', (_host, _options, answer) => answer(gone, ''))
    await expect(ask()).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })
})

describe('an IP address as host', () => {
  it.each([
    ...['http://127.0.0.1', 'https://127.0.0.1', 'http://[::1]', 'http://[::ffff:127.0.0.1]', 'http://2130706433'],
    ...['http://0x7f.1', 'http://0', 'http://localhost'],
  ])('is checked in every notation, as is the address that the system resolver returns: %s', async (origin) => {
    const ask = client(`${origin}:${port}`)
    await expect(ask()).rejects.toMatchObject({ code: 'REFUSED_ADDRESS' })
    await expect(ask({ host: 'public.example' })).rejects.toMatchObject({ code: 'REFUSED_ADDRESS' })
    expect(met).toEqual([])
  })

  it('is connected to when it is allowed', async () => {
    expect(await client(`http://${PUBLIC}:${port}`)()).toBe(200)
  })
})
