import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { run } from '../../../../activities/foundationdb/sidecar/sidecar.ts'
import { readSettings } from '../../../../activities/foundationdb/sidecar/settings.ts'
import { Authority, type Pair } from '../../../support/servers/certificates.ts'

let root: string
let end: AbortController
let output: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fdb-sidecar-'))
  end = new AbortController()
  output = ''
})
afterEach(() => {
  end.abort()
  rmSync(root, { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The arguments of the split image (spec/foundationdb.md 4.14). */
const ARGS = [
  ...['--copy-file', 'fdb.cluster', '--input-monitor-conf', 'fdbmonitor.conf', '--copy-binary', 'fdbserver'],
  ...['--copy-binary', 'fdbcli', '--substitute-variable', 'FDB_POD_IP', '--substitute-variable', 'RACK'],
]
const ENV = { FDB_PUBLIC_IP: '127.0.0.1', FDB_INSTANCE_ID: 'storage-1', HOSTNAME: 'pod-1', RACK: 'r$&1' }
const CONF =
  'command = $BINARY_DIR/fdbserver\nx = $FDB_PUBLIC_IP:4501 $FDB_INSTANCE_ID $FDB_MACHINE_ID $FDB_ZONE_ID $RACK $NO\n'

function writeInputs(): void {
  mkdirSync(join(root, 'var/output-files'), { recursive: true })
  write('var/input-files/fdb.cluster', 'a:b@127.0.0.1:4501')
  write('var/input-files/fdbmonitor.conf', CONF)
  write('usr/bin/fdbserver', 'server 7.1.67')
  write('usr/bin/fdbcli', 'cli 7.1.67')
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = ENV): Promise<number> {
  const append = (text: string): void => void (output += text)
  const own = ['--root', root, '--own-version', '7.1.67']
  return run({ args: [...own, ...args], env, self: [], end: end.signal, print: append, complain: append })
}

async function origin(scheme = 'http'): Promise<string> {
  await expect.poll(() => output, { interval: 5 }).toContain('Listening on')
  return `${scheme}://${/Listening on (\S+)/.exec(output)?.[1] ?? ''}`
}

describe('the sidecar in init mode', () => {
  it('copies files with variables replaced, and ends', async () => {
    writeInputs()
    expect(await start([...ARGS, '--main-container-version', '7.1.67', '--init-mode'])).toBe(0)
    expect(read('var/output-files/fdb.cluster')).toBe('a:b@127.0.0.1:4501')
    expect(read('var/output-files/fdbmonitor.conf')).toBe(
      'command = /usr/bin/fdbserver\nx = 127.0.0.1:4501 storage-1 pod-1 pod-1 r$&1 $NO\n',
    )
    // No temporary file is left, and no program is copied: the main container has this version.
    expect(readdirSync(join(root, 'var/output-files')).sort()).toEqual(['fdb.cluster', 'fdbmonitor.conf'])
  })

  it('copies its programs if the main container has another version', async () => {
    writeInputs()
    expect(await start([...ARGS, '--main-container-version', '7.1.66', '--init-mode'])).toBe(0)
    expect(read('var/output-files/fdbmonitor.conf')).toContain('command = /var/dynamic-conf/bin/7.1.67/fdbserver\n')
    expect(read('var/output-files/bin/7.1.67/fdbserver')).toBe('server 7.1.67')
    expect(statSync(join(root, 'var/output-files/bin/7.1.67/fdbcli')).mode & 0o777).toBe(0o744)
  })

  it.each([
    { title: 'an empty required file', text: '', problem: /fdb\.cluster" is missing or empty/ },
    { title: 'a missing input file', text: undefined, problem: /ENOENT.*fdb\.cluster/ },
  ])('fails with $title', async ({ text, problem }) => {
    writeInputs()
    rmSync(join(root, 'var/input-files/fdb.cluster'))
    if (text !== undefined) write('var/input-files/fdb.cluster', text)
    const required = text === undefined ? [] : ['--require-not-empty', 'fdb.cluster']
    expect(await start([...ARGS, ...required, '--init-mode'])).toBe(1)
    expect(output).toMatch(problem)
  })
})

describe("the sidecar's HTTP API", () => {
  const args = [...ARGS, '--main-container-version', '7.1.67', '--bind-address', '127.0.0.1:0']

  it('answers questions about its files, and copies changed ones on request', async () => {
    writeInputs()
    const exit = start(args)
    const base = await origin()
    const ask = async (path: string, method = 'GET'): Promise<[number, string]> => {
      const response = await fetch(base + path, { method })
      return [response.status, await response.text()]
    }
    const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
    expect(await ask('/ready')).toEqual([200, 'OK\n'])
    expect(JSON.parse((await ask('/substitutions'))[1])).toMatchObject({ BINARY_DIR: '/usr/bin', FDB_ZONE_ID: 'pod-1' })
    expect(await ask('/check_hash/fdb.cluster')).toEqual([200, hash('a:b@127.0.0.1:4501')])

    write('var/input-files/fdb.cluster', 'a:c@127.0.0.1:4501')
    write('var/input-files/fdbmonitor.conf', 'zone = $FDB_ZONE_ID')
    expect(await ask('/check_hash/fdb.cluster')).toEqual([200, hash('a:b@127.0.0.1:4501')])
    expect(await ask('/copy_files', 'POST')).toEqual([200, 'OK\n'])
    expect(await ask('/copy_monitor_conf', 'POST')).toEqual([200, 'OK\n'])
    expect(await ask('/check_hash/fdb.cluster')).toEqual([200, hash('a:c@127.0.0.1:4501')])
    expect(await ask('/check_hash/fdbmonitor.conf')).toEqual([200, hash('zone = pod-1')])

    expect(await ask('/is_present/fdb.cluster')).toEqual([200, 'OK\n'])
    const missing = [
      '/is_present/bin/7.1.67/fdbserver',
      '/check_hash/none',
      '/check_hash/..%2Finput-files%2Ffdb.cluster',
      '/check_hash/',
      '/none',
    ]
    for (const path of missing) expect([path, (await ask(path))[0]]).toEqual([path, 404])
    expect((await ask('/none', 'POST'))[0]).toBe(404)
    expect(await ask('/refresh_certs', 'POST')).toEqual([400, 'Server is not using TLS\n'])

    rmSync(join(root, 'var/input-files/fdb.cluster'))
    expect((await ask('/copy_files', 'POST'))[0]).toBe(500)
    expect((await ask('/ready'))[0]).toBe(200)
    expect(await ask('/restart', 'POST')).toEqual([200, 'OK\n'])
    expect(await exit).toBe(1)
  })

  it('with TLS requires a permitted client certificate, except for /ready', async () => {
    writeInputs()
    const [authority, other] = await Promise.all([Authority.make('authority'), Authority.make('other')])
    const server = await authority.issue('sidecar')
    write('tls/cert', server.cert)
    write('tls/key', server.key)
    write('tls/ca', authority.cert)
    const env = {
      ...ENV,
      FDB_TLS_CERTIFICATE_FILE: '/tls/cert',
      FDB_TLS_KEY_FILE: '/tls/key',
      FDB_TLS_CA_FILE: '/tls/ca',
      FDB_TLS_VERIFY_PEERS: 'S.CN=operator,I.CN=authority',
    }
    const exit = start([...args, '--tls'], env)
    const base = await origin('https')
    const status = (path: string, client: Pair | undefined, method = 'GET'): Promise<number> =>
      new Promise((resolve, reject) => {
        const sent = request(base + path, {
          method,
          ...client,
          ca: authority.cert,
          checkServerIdentity: () => undefined,
          agent: false,
        })
        sent
          .on('response', (response) => resolve(response.resume().statusCode ?? 0))
          .on('error', reject)
          .end()
      })
    const operator = await authority.issue('operator')
    expect(await status('/ready', undefined)).toBe(200)
    expect(await status('/substitutions', undefined)).toBe(401)
    expect(await status('/substitutions', await authority.issue('stranger'))).toBe(401)
    expect(await status('/substitutions', await other.issue('operator'))).toBe(401)
    expect(await status('/substitutions', operator)).toBe(200)
    expect(await status('/refresh_certs', operator, 'POST')).toBe(200)
    end.abort()
    expect(await exit).toBe(0)
  })
})

describe('the settings of the sidecar', () => {
  it.each([
    { args: [], env: {}, host: '10.0.0.9' },
    { args: [], env: { FDB_POD_IP: '10.0.0.1', FDB_PUBLIC_IP: '10.0.0.2' }, host: '10.0.0.1' },
    { args: ['--public-ip-family', '6'], env: { FDB_PUBLIC_IP: '10.0.0.2,fd00::1' }, host: 'fd00::1' },
    { args: ['--bind-address', '[::]:8090'], env: {}, host: '::' },
  ])('listen at $host with $args and $env', ({ args, env, host }) => {
    expect(readSettings(['--pod-ip', '10.0.0.9', ...args], env).host).toBe(host)
  })

  it.each([
    {
      args: ['--tls'],
      env: {},
      problem: '--tls-certificate-file is missing; set it, or set the variable FDB_TLS_CERTIFICATE_FILE',
    },
    {
      args: ['--public-ip-family', '6'],
      env: { FDB_PUBLIC_IP: '10.0.0.2' },
      problem: "FDB_PUBLIC_IP: found '10.0.0.2'; expected at least one IPv6 address",
    },
    { args: ['--none'], env: {}, problem: "Unknown option '--none'" },
  ])('refuse $args with $env', ({ args, env, problem }) => {
    expect(() => readSettings(args, env)).toThrow(problem)
  })
})
