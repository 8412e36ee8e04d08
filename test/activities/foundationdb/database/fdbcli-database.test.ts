// The adapter with an executable in the place of fdbcli: the arguments, the environment and the cluster file that a tool gets, its end with its pass, and
// the refusal of unsafe words. The executable answers by its standard input or prints the text of a file.

import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { Database, ReadKey } from '../../../../activities/foundationdb/database/database.ts'
import { fdbcliDatabases } from '../../../../activities/foundationdb/database/fdbcli-database.ts'
import { writeExecutables } from '../../../../activities/foundationdb/simulator/bin.ts'
import { findTools } from '../../../../activities/foundationdb/database/tools.ts'

const CONNECTION = 'test:abcdefgh@127.0.0.1:4501'
const KEY = Buffer.from('\xff\x02/lock/global', 'latin1')
const DENIED = Buffer.from('\xff\x02/lock/denyList/dc1', 'latin1')

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-test-'))
  await mkdir(join(folder, '7.1'))
})

afterEach(async () => {
  await rm(folder, { recursive: true })
})

/** Installs a Node program as fdbcli. `log(value)` in it writes to the file that `logged` reads. */
async function install(body: string): Promise<void> {
  const program = join(folder, '7.1', 'fdbcli')
  const log = `const log = (value) => require('fs').appendFileSync(${JSON.stringify(join(folder, 'log'))}, JSON.stringify(value) + '\\n')`
  await writeFile(program, `#!${process.execPath}\n${log}\n${body}\n`)
  await chmod(program, 0o755)
}

async function logged(): Promise<readonly unknown[]> {
  const text = await readFile(join(folder, 'log'), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

function databaseWith({ signal = new AbortController().signal, environment = {} } = {}): Database {
  return fdbcliDatabases({ tools: findTools(folder), environment }).open(
    { connectionString: CONNECTION, version: '7.1.67' },
    signal,
  )
}

const LOG_COMMAND = `log(process.argv[3])`

describe('a command', () => {
  it('has the documented arguments, its own cluster file and no other secrets of the worker', async () => {
    const environment = {
      PAWL_TOKEN: 'secret',
      FDB_NETWORK_OPTION_EXTERNAL_CLIENT_DIRECTORY: '/x',
      FDB_TLS_CA_FILE: '/ca',
    }
    await install(`
      log(process.argv.slice(2, 5).concat(process.argv.slice(6).filter((text) => !text.startsWith('/'))))
      log(require('fs').readFileSync(process.argv[5], 'utf8'))
      log(Object.keys(process.env).filter((name) => /^(?:PAWL|FDB)_/.test(name)))
      console.log('Database created')`)
    await databaseWith({ environment }).configure('double ssd-2 logs=3', { isNew: true })
    expect(await logged()).toEqual([
      [
        ...['--exec', 'configure new double ssd-2 logs=3', '-C', '--log', '--trace_format', 'xml', '--log-dir'],
        ...['--log-group', 'fdb-kubernetes-operator', '--timeout', '40'],
      ],
      `${CONNECTION}\n`,
      ['FDB_TLS_CA_FILE'],
    ])
  })

  it.each<[string, string, (database: Database) => Promise<unknown>]>([
    [
      'exclude no_wait locality_instance_id:a-1 10.0.0.1',
      '',
      (it) => it.exclude(['locality_instance_id:a-1', '10.0.0.1'], { waits: false }),
    ],
    ['exclude 10.0.0.1', '', (it) => it.exclude(['10.0.0.1'], { waits: true })],
    ['include 10.0.0.1', '', (it) => it.include(['10.0.0.1'])],
    [
      'kill; kill 10.0.0.1:4501; sleep 5',
      'Attempted to kill 1 processes',
      (it) => it.kill(['10.0.0.1:4501'], { isUpgrade: false }),
    ],
    [
      'kill; kill [::1]:4501; sleep 1; kill [::1]:4501; sleep 5',
      'Attempted to kill 1 processes',
      (it) => it.kill(['[::1]:4501'], { isUpgrade: true }),
    ],
    ['maintenance on rack\\x20\\x3b\\x20kill 600', '', (it) => it.startMaintenance('rack ; kill', 600)],
    ['maintenance off', '', (it) => it.endMaintenance()],
    [
      'writemode on; option on ACCESS_SYSTEM_KEYS; begin; set \\xff\\x02/lock/global \\x00a\\x22; clear b; commit',
      '',
      (it) =>
        it.write([
          { key: KEY, value: Buffer.from('\0a"') },
          { key: Buffer.from('b'), value: undefined },
        ]),
    ],
    [
      'option on ACCESS_SYSTEM_KEYS; getrange \\xff\\x02/lock/ \\xff\\x02/lock0 100000',
      '',
      (it) => it.readPrefix(Buffer.from('\xff\x02/lock/', 'latin1')),
    ],
  ])('is %s', async (command, output, call) => {
    await install(`${LOG_COMMAND}; console.log(${JSON.stringify(output)})`)
    await call(databaseWith())
    expect(await logged()).toEqual([command])
  })

  it.each<[string, (database: Database) => Promise<unknown>]>([
    ['a second command', (it) => it.configure('double; kill', { isNew: false })],
    ['a line break', (it) => it.configure('double\nkill', { isNew: false })],
    ['an override of safety checks', (it) => it.configure('FORCE single', { isNew: false })],
    ['an option of exclude', (it) => it.exclude(['FORCE', 'failed'], { waits: false })],
    ['a second command in a locality', (it) => it.exclude(['locality_zoneid:a;kill'], { waits: false })],
    ['all exclusions', (it) => it.include(['all'])],
    ['all processes', (it) => it.kill(['all'], { isUpgrade: false })],
    ['automatic coordinators', (it) => it.changeCoordinators(['auto'])],
    ['an empty list', (it) => it.exclude([], { waits: false })],
  ])('is refused before fdbcli starts: %s', async (_, call) => {
    await install('log("started")')
    await expect(call(databaseWith())).rejects.toMatchObject({ kind: 'refused' })
    await expect(logged()).rejects.toThrow('ENOENT')
  })

  it('ends with its pass', async () => {
    const abort = new AbortController()
    await install(`log(process.pid); setInterval(() => {}, 1000)`)
    const call = databaseWith({ signal: abort.signal }).status()
    await expect.poll(async () => await logged().catch(() => [])).toHaveLength(1)
    abort.abort(new Error('the pass has ended'))
    await expect(call).rejects.toThrow('the pass has ended')
    const [pid] = await logged()
    expect(() => process.kill(pid as number, 0)).toThrow('ESRCH')
  })

  it('needs a tool of the same minor version', async () => {
    const tools = findTools(folder)
    await install('')
    expect(await tools.isSupported('7.1.5')).toBe(true)
    await expect(tools.find('fdbcli', '7.3.1')).rejects.toMatchObject({ code: 'ToolNotFound', retryable: false })
  })
})

describe('a missing tool', () => {
  it('is replaced by the simulator where that is permitted', async () => {
    const tools = findTools(undefined, '', (version) =>
      writeExecutables(join(folder, version), process.execPath, version),
    )
    expect(await tools.isSupported('7.3.63')).toBe(true)
    expect(await tools.protocolOf('7.3.63')).toBe('fdb00b073000000')
    expect(await findTools(undefined, '').isSupported('7.3.63')).toBe(false)
  })
})

/** A session that reads lines, buffers its output like the real tool, and has the same value for all keys. */
const SESSION = `
  const options = 'x'.repeat(11000)
  let output = ''
  const print = (line) => { output += line + '\\n'; if (output.length >= 4096) { process.stdout.write(output); output = '' } }
  require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    if (line !== 'help options') log(line)
    if (line.startsWith('get')) print("\`key' is \`\\\\x02dc1'")
    if (line === 'help options') print(options)
    if (line === 'commit') { if (process.env.FDB_TEST_CONFLICT) console.error('ERROR: Transaction not committed due to conflict with another transaction (1020)'); else print('Committed (5)') }
    if (line === 'quit') { process.stdout.write(output); process.exit(0) }
  })`

describe('a transaction', () => {
  const decide = (found: string[]) => async (read: ReadKey) => {
    for (const key of [DENIED, KEY]) found.push(Buffer.from((await read(key)) ?? []).toString('latin1'))
    return [{ key: KEY, value: Buffer.from('new') }]
  }

  it('reads, decides and commits in one session', async () => {
    await install(SESSION)
    const found: string[] = []
    await databaseWith().transact(decide(found))
    expect(found).toEqual(['\x02dc1', '\x02dc1'])
    expect(await logged()).toEqual([
      'writemode on',
      'option on ACCESS_SYSTEM_KEYS',
      'begin',
      'get \\xff\\x02/lock/denyList/dc1',
      'get \\xff\\x02/lock/global',
      'set \\xff\\x02/lock/global new',
      'commit',
      'quit',
    ])
  })

  it('is refused after a conflict', async () => {
    await install(SESSION)
    const call = databaseWith({ environment: { FDB_TEST_CONFLICT: '1' } }).transact(decide([]))
    await expect(call).rejects.toMatchObject({ kind: 'refused' })
  })

  it('commits nothing without changes', async () => {
    await install(SESSION)
    await databaseWith().transact(() => Promise.resolve([]))
    expect(await logged()).not.toContain('commit')
  })
})
