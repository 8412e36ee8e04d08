// The DNS server that gets a target's queries: it answers with the records of the disruption and forwards all other
// queries.

import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { randomInt } from 'node:crypto'
import { answerTo } from '../../../../workflows/chaos/injector/dns/answers.ts'
import type { DnsRecord } from '../../../../workflows/chaos/injector/invocation.ts'
import { encodeAnswer, parseQuestion } from './message.ts'
import { anyText, Flags } from '../../../../workflows/chaos/injector/flags.ts'
import { integerIn } from '../../../../workflows/chaos/grammar.ts'
import { dnsRecords } from '../../../../workflows/chaos/injector/grammars.ts'
import type { ProgramStart } from '../../../program.ts'
import { childFlags, parentEnded } from '../stress/child.ts'

export interface ResponderSettings {
  readonly records: readonly DnsRecord[]
  readonly udpPort: number | undefined
  readonly tcpPort: number | undefined
  /** As `address:port`, tried in order. */
  readonly upstreams: readonly string[]
}

export interface Responder {
  /** The bound ports; 0 for a disabled protocol. */
  readonly udpPort: number
  readonly tcpPort: number
  readonly close: () => Promise<void>
}

/** The timeout of one server; then the next one is tried. */
const UPSTREAM_TIMEOUT_MS = 2000

type Answer = Buffer | undefined
type Protocol = 'udp' | 'tcp'

/** Resolves when it listens. @throws if a port is in use. */
export async function startResponder(settings: ResponderSettings): Promise<Responder> {
  let turn = 0
  const reply = async (message: Buffer, protocol: Protocol): Promise<Answer> => {
    const question = parseQuestion(message)
    if (question === undefined) return await forward(message, settings.upstreams, protocol)
    const answer = answerTo(settings.records, question, { turn: turn++, below: (bound) => randomInt(bound) })
    switch (answer.does) {
      case 'answer':
        return encodeAnswer(question, 'NOERROR', answer.records)
      case 'refuse':
        return encodeAnswer(question, answer.code, [])
      case 'drop':
        return undefined
      case 'forward':
        return (await forward(message, settings.upstreams, protocol)) ?? encodeAnswer(question, 'SERVFAIL', [])
    }
  }
  const udp = settings.udpPort === undefined ? undefined : await listenUdp(settings.udpPort, reply)
  const tcp = settings.tcpPort === undefined ? undefined : await listenTcp(settings.tcpPort, reply)
  return {
    udpPort: udp?.port ?? 0,
    tcpPort: tcp?.port ?? 0,
    close: async () => {
      await Promise.all([udp?.close(), tcp?.close()])
    },
  }
}

interface Listener {
  readonly port: number
  readonly close: () => Promise<void>
}

type Reply = (message: Buffer, protocol: Protocol) => Promise<Answer>

async function listenUdp(port: number, reply: Reply): Promise<Listener> {
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    void reply(message, 'udp').then((answer) => {
      if (answer !== undefined) socket.send(answer, from.port, from.address)
    })
  })
  socket.bind(port)
  await once(socket, 'listening')
  return {
    port: socket.address().port,
    close: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}

async function listenTcp(port: number, reply: Reply): Promise<Listener> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    // Clients may disconnect at any time.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
    onMessages(socket, (message) => {
      void reply(message, 'tcp').then((answer) => {
        if (answer !== undefined && socket.writable) socket.write(framed(answer))
      })
    })
  })
  server.listen(port)
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    close: async () => {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function forward(message: Buffer, upstreams: readonly string[], protocol: Protocol): Promise<Answer> {
  for (const upstream of upstreams) {
    const [, host = '', port = '53'] = /^(.*):(\d+)$/.exec(upstream) ?? []
    const answer = await (protocol === 'udp' ? queryUdp : queryTcp)(message, host, Number(port))
    if (answer !== undefined) return answer
  }
  return undefined
}

async function queryUdp(message: Buffer, host: string, port: number): Promise<Answer> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  try {
    return await firstAnswer((resolve) => {
      socket.once('message', resolve)
      socket.once('error', () => resolve(undefined))
      socket.send(message, port, host, (error) => {
        if (error !== null) resolve(undefined)
      })
    })
  } finally {
    socket.close()
  }
}

async function queryTcp(message: Buffer, host: string, port: number): Promise<Answer> {
  const socket = connect(port, host)
  try {
    return await firstAnswer((resolve) => {
      socket.once('error', () => resolve(undefined))
      socket.once('connect', () => socket.write(framed(message)))
      onMessages(socket, resolve)
    })
  } finally {
    socket.destroy()
  }
}

async function firstAnswer(ask: (resolve: (answer: Answer) => void) => void): Promise<Answer> {
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), UPSTREAM_TIMEOUT_MS)
    ask((answer) => {
      clearTimeout(timer)
      resolve(answer)
    })
  })
}

/** Over TCP, the length precedes a message. Source: RFC 1035 4.2.2. */
function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

function onMessages(socket: Socket, take: (message: Buffer) => void): void {
  let buffer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    buffer = Buffer.concat([buffer, typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
    while (buffer.length >= 2 && buffer.length >= 2 + buffer.readUInt16BE(0)) {
      const end = 2 + buffer.readUInt16BE(0)
      take(buffer.subarray(2, end))
      buffer = buffer.subarray(end)
    }
  })
}

/** `dns-responder --records R --udp-port P --tcp-port P --upstream ADDRESS:PORT`: runs until its parent ends. */
export async function runResponder({ args, print }: ProgramStart): Promise<number> {
  const flags = new Flags(args)
  const settings = {
    records: flags.required('records', dnsRecords, []),
    udpPort: flags.optional('udp-port', integerIn(1, 65535)),
    tcpPort: flags.optional('tcp-port', integerIn(1, 65535)),
    upstreams: flags.every('upstream', anyText),
  }
  const child = childFlags(flags)
  flags.refuseUnknown()
  if (flags.problems.length > 0) throw new Error(flags.problems.join('\n'))
  const { close } = await startResponder(settings)
  print('ready\n')
  await parentEnded(child)
  await close()
  return 0
}
