// Keys are stored per process: they are lost where a real database would lose them, and nowhere else.

import { describe, expect, it } from 'vitest'

import type { ProcessClass } from '../../../../activities/foundationdb/simulator/core/process-class.ts'
import { InProcessCluster } from './in-process-cluster.ts'

const FILE = '/fdb.cluster'
const KEYS = Array.from({ length: 20 }, (_, index) => `n${String(index).padStart(3, '0')}`)

/** One log process, then storage processes; the log process is the coordinator. */
async function createCluster(storageProcesses: number, mode: string): Promise<InProcessCluster> {
  const cluster = new InProcessCluster('test:abc@127.0.0.1:4501')
  cluster.writeClusterFile(FILE)
  const classes: ProcessClass[] = ['stateless', 'log', 'log', ...Array<ProcessClass>(storageProcesses).fill('storage')]
  for (const [index, processClass] of classes.entries()) {
    const n = String(index + 1)
    cluster.start({ address: `127.0.0.${n}:4501`, processClass, locality: { zoneid: `node-${n}` } })
  }
  await run(cluster, `configure new ${mode} memory`)
  await run(cluster, `writemode on; ${KEYS.map((key) => `set ${key} ${key}`).join('; ')}`)
  return cluster
}

const run = async (cluster: InProcessCluster, command: string) =>
  await cluster.fdbcli(['--exec', command, '-C', FILE, '--timeout', '30'])

/** The addresses of the processes that hold the keys. */
async function holders(cluster: InProcessCluster): Promise<string[]> {
  const { stdout } = await run(cluster, 'getlocation n000')
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim())
}

const foundKeys = async (cluster: InProcessCluster) => {
  const { stdout } = await run(cluster, 'getrangekeys n n~ 100')
  return KEYS.filter((key) => stdout.includes(`\`${key}'`)).length
}

describe('a storage process that holds the only copy of the keys', () => {
  it('can be removed without loss when its exclusion is complete', async () => {
    const cluster = await createCluster(2, 'single')
    const [holder = ''] = await holders(cluster)
    expect(await run(cluster, `exclude ${holder}`)).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('Successfully excluded') as string,
    })
    cluster.destroy(holder)
    await cluster.advance(120)
    expect(await foundKeys(cluster)).toBe(KEYS.length)
  })

  it('takes the keys with it when it is removed before its exclusion is complete', async () => {
    const cluster = await createCluster(2, 'single')
    const [holder = ''] = await holders(cluster)
    expect(await run(cluster, `exclude no_wait ${holder}`)).toMatchObject({
      stderr: expect.stringContaining('Exclusion in progress') as string,
    })
    cluster.destroy(holder)
    await cluster.advance(120)
    expect(await run(cluster, 'get n000')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('Specified timeout reached') as string,
    })
    await run(cluster, `exclude FORCE failed ${holder}`)
    expect(await run(cluster, 'get n000')).toMatchObject({ exit: 0, stdout: "`n000': not found\n" })
    expect(await foundKeys(cluster)).toBe(0)
  })
})

describe('a double database', () => {
  it('copies the keys of a lost process from the other replica', async () => {
    const cluster = await createCluster(3, 'double')
    const [first = '', second = ''] = await holders(cluster)
    cluster.destroy(first)
    await cluster.advance(120)
    cluster.destroy(second)
    await cluster.advance(30)
    expect(await foundKeys(cluster)).toBe(KEYS.length)
  })

  it('is unreadable without both replicas, and complete again when one returns', async () => {
    const cluster = await createCluster(3, 'double')
    const lost = await holders(cluster)
    for (const address of lost) cluster.stop(address)
    expect(await run(cluster, 'get n000')).toMatchObject({ exit: 1 })
    cluster.restart(lost[0] ?? '')
    expect(await foundKeys(cluster)).toBe(KEYS.length)
  })

  it('brings a process that missed commits up to date before it serves them', async () => {
    const cluster = await createCluster(3, 'double')
    const [first = '', second = ''] = await holders(cluster)
    cluster.stop(first)
    await run(cluster, 'writemode on; set n000 changed; clear n001')
    cluster.restart(first)
    cluster.stop(second)
    expect(await run(cluster, 'get n000; get n001')).toMatchObject({
      stdout: ">>> get n000\n`n000' is `changed'\n>>> get n001\n`n001': not found\n",
    })
  })
})

describe('two transactions that read and write the same key', () => {
  it('do not both commit', async () => {
    const cluster = await createCluster(1, 'single')
    const { transactions } = cluster.database
    const [first, second] = [await transactions.readVersion(), await transactions.readVersion()]
    const commit = async (readVersion: number) =>
      await transactions.commit({
        readVersion,
        reads: [['lock', 'lock\0']],
        mutations: [{ type: 'set', key: 'lock', value: 'x' }],
      })
    await expect(commit(first)).resolves.toBeGreaterThan(first)
    await expect(commit(second)).rejects.toMatchObject({ code: 1020 })
  })
})
