import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fdbbackup } from '../../../../../activities/foundationdb/simulator/backup/fdbbackup.ts'
import { fdbrestore } from '../../../../../activities/foundationdb/simulator/backup/fdbrestore.ts'
import { writeExecutables } from '../../../../../activities/foundationdb/simulator/bin.ts'
import { fdbcli } from '../../../../../activities/foundationdb/simulator/cli/fdbcli.ts'
import { tcpGateway } from '../../../../../activities/foundationdb/simulator/server/tcp-gateway.ts'
import { toolHost } from '../../../../../activities/foundationdb/simulator/tool-host.ts'

interface Recorded {
  readonly name: string
  readonly argv: readonly string[]
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

const RECORDED = readFileSync(join(import.meta.dirname, '../recordings/21-backup-restore.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)
const ADDRESS = '127.3.2.1:4501'
const env = { FDB_SIM_TIME_SCALE: '0.02', FDB_SIM_PROGRAM: '$DIR/bin/fdbbackup', PATH: process.env['PATH'] }
const folder = mkdtempSync(join(tmpdir(), 'fdb-tools-'))
const clusterFile = join(folder, 'c21/fdb.cluster')
const processes = new Set<ChildProcess>()
let bin: string

function start(tool: string, ...args: string[]): ChildProcess {
  const child = spawn(join(bin, tool), args, { env, stdio: 'ignore' })
  processes.add(child)
  return child
}

beforeAll(async () => {
  bin = writeExecutables(join(folder, 'bin'), process.execPath)
  mkdirSync(join(folder, 'c21'))
  writeFileSync(clusterFile, `test:abcdefghijklmnopqrstuvwxyz012345@${ADDRESS}`)
  writeFileSync(join(folder, 'c21/agent3.out'), '')
  start('fdbserver', '--public_address', ADDRESS, '--datadir', join(folder, 'data'), '--cluster_file', clusterFile)
  expect((await cli('configure new single memory')).stdout).toContain('Database created\n')
})
afterAll(() => {
  for (const child of processes) child.kill('SIGKILL')
  rmSync(folder, { recursive: true })
})

interface Result {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
}

async function run(tool: (host: ReturnType<typeof toolHost>) => Promise<number>): Promise<Result> {
  const output = { stdout: '', stderr: '' }
  const host = {
    ...toolHost({ argv: [], env, stdin: process.stdin, stdout: process.stdout, stderr: process.stderr }, '7.1.67'),
    stdout: (text: string) => void (output.stdout += text),
    stderr: (text: string) => void (output.stderr += text),
  }
  return { exit: await tool(host), ...output }
}

const cli = (command: string): Promise<Result> =>
  run((host) =>
    fdbcli(['--exec', command, '-C', clusterFile, '--timeout', '300'], host, (tls, logGroup) =>
      tcpGateway({ tls, logGroup, version: '7.1.67', exists: () => false }),
    ),
  )

/** The folder that the first backup has in the recording, and the one that it has here. */
const RECORDED_FOLDER = 'backup-2026-11-27-12-11-54.856959'
let ownFolder = RECORDED_FOLDER

async function replay(name: string): Promise<{ recorded: unknown; simulated: unknown }> {
  const found = RECORDED.find((one) => one.name.startsWith(name))
  if (found === undefined) throw new Error(`there is no recording ${name}`)
  const [tool = '', ...argv] = found.argv
  const here = argv.map((word) => word.replaceAll('$DIR', folder).replaceAll(RECORDED_FOLDER, ownFolder))
  const result = await run((host) => (tool === 'fdbrestore' ? fdbrestore(here, host) : fdbbackup(here, host)))
  const own = /backup-[\d.-]*\d/.exec(result.stdout)?.[0]
  if (name === '026') ownFolder = own ?? ownFolder
  return { recorded: plain(found), simulated: plain(result) }
}

/** Removes values that differ in each run. JSON documents are reduced to their keys and plain values. */
function plain({ exit, stdout, stderr }: Result): unknown {
  const text = stdout.startsWith('{')
    ? JSON.stringify(JSON.parse(stdout), (_, value: unknown) => (typeof value === 'number' ? 0 : value))
    : stdout
  const lines = [text, stderr].map((one) => [...new Set(normalize(one).split('\n'))])
  return { exit, stdout: lines[0], stderr: lines[1]?.map((line) => line.replace('fdbrestore', 'fdbbackup')) }
}

function normalize(text: string): string {
  return text
    .replaceAll(folder, '$DIR')
    .replaceAll(/backup-20\d\d-[\d.-]+\d/g, 'backup-DATE')
    .replaceAll(/\b(?!0{32})[0-9a-f]{32}\b/g, 'UID')
    .replaceAll(/20\d\d\/\d\d\/\d\d\.[\d:]+\+0000/g, 'TIME')
    .replaceAll(/\(maxLogEnd \+?-0\.00 days\)|\(TIME\)/g, '(AGE)')
    .replaceAll(/Blocks: (?!0\/0)\d+\/\d+/g, 'Blocks: N')
    .replaceAll(/(bytes|written - |progress target is |BytesWritten: |SnapshotBytes: |totalBytes=)[\d.]+/gi, '$1N')
    .replaceAll(/\b\d{5,}\b/g, 'N')
}

const compare = async (...names: string[]): Promise<void> => {
  for (const name of names) {
    const { recorded, simulated } = await replay(name)
    expect([name, simulated]).toEqual([name, recorded])
  }
}

const until = async (state: string, tag = 'default'): Promise<void> => {
  const status = (): Promise<Result> =>
    run((host) => fdbbackup(['status', '-C', clusterFile, '--json', '-t', tag], host))
  await expect
    .poll(async () => (await status()).stdout, { interval: 10, timeout: 15_000 })
    .toContain(`"Name":"${state}"`)
}

describe('fdbbackup and fdbrestore answer as recorded', () => {
  it('without a backup', async () => {
    await compare(...['002', '003', '004', '005', '006', '007', '008', '009', '010', '011', '012', '013'])
    await compare(...['015', '016', '017', '018', '019', '021', '022', '023', '117', '137', '138'])
  })

  it('with a backup, agents, and a restore that brings the keys back', async () => {
    await cli('writemode on; set user1 one; set user2 two')
    await compare('024', '025', '026', '027', '029')
    const agents = [start('backup_agent', '-C', clusterFile), start('backup_agent', '-C', clusterFile, '--log')]
    await until('Running')
    await until('RunningDifferentially')
    await compare(
      '043',
      '044',
      '045',
      '046',
      '049',
      '052',
      '053',
      '055',
      '057',
      '058',
      '059',
      '060',
      '062',
      '063',
      '065',
    )
    // One agent is enough; a write after the loss of the other one is in the backup.
    agents[0]?.kill('SIGKILL')
    await cli('writemode on; set user3 three')
    await expect
      .poll(
        async () =>
          (
            await run((host) => fdbbackup(['describe', '-d', `file://${folder}/c21/backups/${ownFolder}`], host))
          ).stdout.match(/^Snapshot:/gm)?.length,
        { interval: 20, timeout: 15_000 },
      )
      .toBeGreaterThan(1)
    await compare('086')
    await until('Completed')
    await compare('089', '123', '095', '096')
    await compare('067')
    await until('Completed', 'second')
    await compare('078', '079', '080', '081', '082')
    await cli('writemode on; clearrange "" \\xff')
    await compare('097')
    await expect
      .poll(
        async () => (await run((host) => fdbrestore(['status', '--dest_cluster_file', clusterFile], host))).stdout,
        { interval: 10 },
      )
      .toContain('State: completed')
    await compare('103')
    expect((await cli('getrange "" \\xff')).stdout).toContain("`user1' is `one'\n`user2' is `two'\n")
    await cli('writemode on; clearrange "" \\xff')
    await run((host) =>
      fdbrestore(
        ['start', '--dest_cluster_file', clusterFile, '-r', `file://${folder}/c21/backups/${ownFolder}`, '-w'],
        host,
      ),
    )
    expect((await cli('getrange "" \\xff')).stdout).toContain("`user3' is `three'")
    await compare('106', '114', '130', '119', '120', '121', '122', '123')
  })
})
