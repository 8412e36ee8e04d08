// What injected code can reach in the process that checks the schemas of tenants.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProcess } from '../../../../activities/landscaper/bounded/bounded-process.ts'
import { startThread, type BoundedThread } from '../../../../activities/landscaper/bounded/bounded-thread.ts'
import type { Outcome, ProbeRequest } from './probe.ts'

const PROBE = new URL('./probe.ts', import.meta.url)
const PATIENCE_MS = 20_000
const folder = mkdtempSync(join(tmpdir(), 'pawl-sealed-'))
// As Kubernetes mounts it.
const TOKEN = join(folder, 'serviceaccount/token')

let server: Server
let connections = 0
let sealed: BoundedThread
let thread: BoundedThread

beforeAll(async () => {
  mkdirSync(join(folder, 'serviceaccount'))
  writeFileSync(TOKEN, 'secret')
  server = createServer((socket) => {
    connections++
    // Some tries hang up at once.
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  sealed = startProcess(PROBE, ['ajv'])
  thread = startThread(PROBE)
})
afterAll(async () => {
  await Promise.all([sealed.stop(), thread.stop()])
  server.close()
  rmSync(folder, { recursive: true })
})

/** Made when the server's port is known. */
const TRIES: readonly [string, () => string][] = [
  ['the process', () => 'process.pid'],
  ['its environment', () => 'process.env'],
  ['another process', () => 'process.kill(process.ppid, 0)'],
  ['a file', () => `import('node:fs').then((fs) => fs.readFileSync('/etc/passwd'))`],
  ["a ServiceAccount's token", () => `import('node:fs').then((fs) => fs.readFileSync(${JSON.stringify(TOKEN)}))`],
  ['a socket', () => connecting(`(await import('node:net'))`)],
  ['a datagram', () => `import('node:dgram').then((dgram) => dgram.createSocket('udp4').close())`],
  ['a name', () => `import('node:dns/promises').then((dns) => dns.lookup('localhost'))`],
  ['a request', () => `fetch('http://127.0.0.1:${port()}/')`],
  ['a web socket', () => `new WebSocket('ws://127.0.0.1:${port()}/').close()`],
  ['a program', () => `import('node:child_process').then((children) => children.spawnSync('true'))`],
  ['a thread', () => `import('node:worker_threads').then(({ Worker }) => new Worker('', { eval: true }))`],
  ['a module by its old way', () => connecting(`process.getBuiltinModule('node:net')`)],
  ['a module of its own', () => `import('data:text/javascript,export default 1')`],
  ['a package', () => `import('yaml')`],
  ['the streams of the console', () => `console._stdout.write('')`],
  ['other globals', () => `setImmediate(() => global)`],
]

describe('code in the process that checks schemas', () => {
  it.each(TRIES)('does not reach %s', async (_, code) => {
    const before = connections
    expect(await tried(sealed, code())).toHaveProperty('refused')
    expect(connections).toBe(before)
  })

  it.each(TRIES)('would reach %s in a thread', async (name, code) => {
    expect(await tried(thread, code()), name).toHaveProperty('reached')
  })

  it('finds no functions or objects of its callers', async () => {
    expect(await tried(sealed, CALLERS)).toEqual({ refused: 'nothing' })
  })

  it('has only the globals of the language', async () => {
    const outcome = await tried(sealed, `Reflect.ownKeys(globalThis).length < 80 || Promise.reject('more')`)
    expect(outcome).toEqual({ reached: 'boolean' })
  })
})

describe('code that held modules of Node before the process was sealed', () => {
  it.each([
    ['reading a file', '/etc/passwd'],
    ['reading a file', TOKEN],
    ['reading a file', '/proc/self/environ'],
    ['listing a folder', '/'],
    ['writing a file', join(folder, 'made')],
    ['starting a program', ''],
    ['starting a thread', ''],
    ['ending another process', ''],
    ['loading a module', ''],
    ['asking for a module', ''],
    ['asking for a binding', ''],
  ])('is refused: %s (%s)', async (power, path) => {
    expect(await ask(sealed, { ask: 'kept', power, path })).toHaveProperty('refused')
  })

  it('finds an empty environment', async () => {
    expect(await ask(sealed, { ask: 'kept', power: 'environment', path: '' })).toEqual({ reached: {} })
  })

  it.each(['reading a file', 'listing a folder', 'ending another process', 'loading a module'])(
    'would succeed in a thread: %s',
    async (power) => {
      const path = power.endsWith('folder') ? '/' : TOKEN
      expect(await ask(thread, { ask: 'kept', power, path })).toHaveProperty('reached')
    },
  )
})

/** By the frames of its stack, which hold them where code is not strict. */
const CALLERS = `await (async () => {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = (_, sites) => sites
  const frames = new Error('here').stack
  Error.prepareStackTrace = prepareStackTrace
  const found = frames.flatMap((frame) => [frame.getThis(), frame.getFunction()])
  const strange = found.filter((one) => one !== undefined && one !== null && one !== globalThis)
  if (frames.length < 3) return 'too few frames'
  const others = strange.filter((one) => !/^async|^function anonymous|answerRequest/.test(String(one)))
  return others.length > 0 ? others.map(String).join() : await Promise.reject('nothing')
})()`

const port = () => (server.address() as AddressInfo).port

function connecting(net: string): string {
  return `await new Promise(async (resolve, reject) => {
    try {
      const net = ${net}
      net.connect(${port()}, '127.0.0.1', resolve).on('error', reject)
    } catch (error) {
      reject(error)
    }
  })`
}

async function tried(site: BoundedThread, code: string): Promise<Outcome> {
  await ask(site, { ask: 'run', code })
  for (;;) {
    const outcome = await ask(site, { ask: 'outcome' })
    if (outcome !== 'under way') return outcome as Outcome
  }
}

async function ask(site: BoundedThread, request: ProbeRequest): Promise<unknown> {
  return await site.run(JSON.stringify(request), PATIENCE_MS)
}
