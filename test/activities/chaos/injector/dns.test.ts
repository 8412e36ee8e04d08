// The DNS responder, queried over real sockets. Source: spec/chaos.md 3.7, D10.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { Resolver } from 'node:dns/promises'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { encodeAnswer, parseQuestion } from '../../../../activities/chaos/injector/dns/message.ts'
import { type Responder, startResponder } from '../../../../activities/chaos/injector/dns/responder.ts'
import type { DnsRecord, DnsRecordType } from '../../../../workflows/chaos/injector/invocation.ts'

const RECORDS = [
  record('a.example', 'A', '192.0.2.1,192.0.2.2'),
  record('a.example', 'AAAA', '2001:db8::5'),
  record('example', 'A', '192.0.2.9'),
  record('alias.example', 'CNAME', 'other.test'),
  record('gone.example', 'A', 'NXDOMAIN'),
  record('sick.example', 'A', 'SERVFAIL'),
  record('mute.example', 'A', 'DROP'),
  record('dice.example', 'A', 'RANDOM'),
  record('dice.example', 'AAAA', 'RANDOM'),
  record('mail.example', 'MX', '10 mx.example'),
  record('text.example', 'TXT', 'x'.repeat(300)),
  record('_s._tcp.example', 'SRV', '1 2 80 host.example'),
]

let responder: Responder
let upstream: Socket
let resolver: Resolver
let asked: string[]

beforeEach(async () => {
  asked = []
  upstream = createSocket('udp4')
  upstream.on('message', (message, { port, address }) => {
    const question = parseQuestion(message)
    if (question === undefined) return
    asked.push(question.name)
    const answer = [{ type: 'A' as const, value: '198.51.100.7', ttl: 1 }]
    upstream.send(encodeAnswer(question, 'NOERROR', question.type === 'A' ? answer : []), port, address)
  })
  upstream.bind(0, '127.0.0.1')
  await once(upstream, 'listening')
  const upstreams = [`127.0.0.1:${upstream.address().port}`]
  responder = await startResponder({ records: RECORDS, udpPort: 0, tcpPort: 0, upstreams })
  resolver = new Resolver({ timeout: 200, tries: 1 })
  resolver.setServers([`127.0.0.1:${responder.udpPort}`])
})

afterEach(async () => {
  await responder.close()
  upstream.close()
})

describe('the DNS responder of a disruption', () => {
  it('answers an exact name by round robin', async () => {
    const answers = [await resolver.resolve4('a.example'), await resolver.resolve4('A.EXAMPLE')]
    expect(answers.flat().sort()).toEqual(['192.0.2.1', '192.0.2.2'])
    expect(await resolver.resolve6('a.example')).toEqual(['2001:db8::5'])
  })

  it('answers subdomains with the record of the longest parent', async () => {
    expect(await resolver.resolve4('b.example')).toEqual(['192.0.2.9'])
    expect(['192.0.2.1', '192.0.2.2']).toContain((await resolver.resolve4('c.a.example'))[0])
  })

  it('forwards queries without a record', async () => {
    expect(await resolver.resolve4('elsewhere.test')).toEqual(['198.51.100.7'])
    expect(await resolver.resolve4('notexample')).toEqual(['198.51.100.7'])
    expect(asked).toEqual(['elsewhere.test', 'notexample'])
  })

  it('answers an address query with a CNAME', async () => {
    expect(await resolver.resolveCname('alias.example')).toEqual(['other.test'])
    const message = question('alias.example', 28)
    expect(await overUdp(message)).toEqual(expect.objectContaining({ code: 0, answers: 1 }))
  })

  it.each([
    ['gone.example', 'ENOTFOUND'],
    ['sick.example', 'ESERVFAIL'],
    ['mute.example', 'ETIMEOUT'],
  ])('makes %s fail with %s', async (name, code) => {
    await expect(resolver.resolve4(name)).rejects.toMatchObject({ code })
    expect(asked).toEqual([])
  })

  it('returns random addresses of documentation networks', async () => {
    expect((await resolver.resolve4('dice.example'))[0]).toMatch(/^192\.0\.2\.\d+$/)
    expect((await resolver.resolve6('dice.example'))[0]).toMatch(/^2001:db8::[0-9a-f]{1,4}$/)
  })

  it('answers MX, TXT and SRV queries', async () => {
    expect(await resolver.resolveMx('mail.example')).toMatchObject([{ exchange: 'mx.example', priority: 10 }])
    expect((await resolver.resolveTxt('text.example'))[0]?.join('')).toBe('x'.repeat(300))
    expect(await resolver.resolveSrv('_s._tcp.example')).toMatchObject([
      { name: 'host.example', port: 80, priority: 1, weight: 2 },
    ])
  })

  it('returns SERVFAIL when no upstream answers', async () => {
    upstream.removeAllListeners('message')
    const patient = new Resolver({ timeout: 10_000, tries: 1 })
    patient.setServers([`127.0.0.1:${responder.udpPort}`])
    await expect(patient.resolve4('elsewhere.test')).rejects.toMatchObject({ code: 'ESERVFAIL' })
  })

  it.each([Buffer.alloc(0), Buffer.alloc(11), Buffer.from('not a question, but long enough to be one')])(
    'continues after an invalid message: %j',
    async (message) => {
      const socket = createSocket('udp4')
      socket.send(message, responder.udpPort, '127.0.0.1', () => socket.close())
      await once(socket, 'close')
      expect(await resolver.resolve4('b.example')).toEqual(['192.0.2.9'])
    },
  )
})

function record(hostname: string, type: DnsRecordType, value: string): DnsRecord {
  return { hostname, type, value, ttl: 5 }
}

function question(name: string, type: number): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.from([label.length]), Buffer.from(label)])
  return Buffer.concat([
    Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ...labels,
    Buffer.from([0, 0, type, 0, 1]),
  ])
}

async function overUdp(message: Buffer) {
  const socket = createSocket('udp4')
  socket.send(message, responder.udpPort, '127.0.0.1')
  const [answer] = (await once(socket, 'message')) as [Buffer]
  socket.close()
  return { id: answer.readUInt16BE(0), code: answer.readUInt16BE(2) & 15, answers: answer.readUInt16BE(6) }
}
