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
beforeEach(async () => {
  met = []
  server = createServer((_, response) => response.writeHead(200, { connection: 'close' }).end('{}'))
  server.on('connection', ({ localAddress }) => met.push(localAddress))
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  port = (server.address() as AddressInfo).port
})
afterEach(async () => {
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

function agentFor(url: string, lookup?: LookupFunction) {
  const rule = createAddressRule([`${PUBLIC}/32`])
  const access = { server: url, isInsecure: false, credentials: {} }
  return createGuardedAgent(access, (address) => rule.addressRefusal(url, address), lookup)
}

async function ask(url: string, dispatcher: ReturnType<typeof agentFor>): Promise<number> {
  const { statusCode, body } = await request(url, { dispatcher })
  await body.dump()
  return statusCode
}

const REFUSED = { code: 'REFUSED_ADDRESS', message: expect.stringContaining(`is at ${LOOPBACK}, a loopback`) as string }

describe('a host name', () => {
  it('that resolved to a public address is refused when it next resolves to a loopback address', async () => {
    const url = `http://rebound.example:${port}`
    const lookup = answering([PUBLIC], [LOOPBACK])
    const agent = agentFor(url, lookup)
    expect(await ask(url, agent)).toBe(200)
    await expect(ask(url, agent)).rejects.toMatchObject(REFUSED)
    expect(met).toEqual([PUBLIC])
    await agent.close()
  })

  it('is resolved once for each connection, so that the address cannot change between the check and the connection', async () => {
    const url = `http://rebound.example:${port}`
    const lookup = answering([PUBLIC], [LOOPBACK])
    const agent = agentFor(url, lookup)
    expect(await ask(url, agent)).toBe(200)
    expect(lookup.asked).toEqual(['rebound.example'])
    await agent.close()
  })

  it.each([[[PUBLIC, LOOPBACK]], [[LOOPBACK, PUBLIC]]])(
    'with several addresses is refused when one of them is not allowed: %j',
    async (all) => {
      const url = `http://mixed.example:${port}`
      const agent = agentFor(url, answering(all))
      await expect(ask(url, agent)).rejects.toMatchObject(REFUSED)
      expect(met).toEqual([])
      await agent.close()
    },
  )

  it('is refused when the system resolver returns a loopback address', async () => {
    const url = `http://localhost:${port}`
    const agent = agentFor(url)
    await expect(ask(url, agent)).rejects.toMatchObject({ code: 'REFUSED_ADDRESS' })
    expect(met).toEqual([])
    await agent.close()
  })

  it('that does not exist fails with ENOTFOUND and not with a refusal', async () => {
    const url = 'http://nobody.invalid'
    const gone = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const agent = agentFor(url, (_host, _options, answer) => answer(gone, ''))
    await expect(ask(url, agent)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await agent.close()
  })
})

describe('an IP address as host', () => {
  it.each(['http', 'https'])('is checked without a DNS lookup (%s)', async (scheme) => {
    const url = `${scheme}://${LOOPBACK}:${port}`
    const agent = agentFor(url)
    await expect(ask(url, agent)).rejects.toMatchObject(REFUSED)
    expect(met).toEqual([])
    await agent.close()
  })

  it.each(['[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0'])(
    'is checked in every notation: %s',
    async (host) => {
      const url = `http://${host}:${port}`
      const agent = agentFor(url)
      await expect(ask(url, agent)).rejects.toMatchObject({ code: 'REFUSED_ADDRESS' })
      expect(met).toEqual([])
      await agent.close()
    },
  )

  it('is checked even when the Host header names another host', async () => {
    const url = `http://${LOOPBACK}:${port}`
    const agent = agentFor(url)
    const headers = { host: 'public.example' }
    await expect(request(url, { dispatcher: agent, headers })).rejects.toMatchObject(REFUSED)
    expect(met).toEqual([])
    await agent.close()
  })

  it('is connected to when it is allowed', async () => {
    const url = `http://${PUBLIC}:${port}`
    const agent = agentFor(url)
    expect(await ask(url, agent)).toBe(200)
    await agent.close()
  })
})
