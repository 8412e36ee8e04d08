import { beforeEach, describe, expect, it } from 'vitest'

import { run as runExclusionStatus } from '../../../../activities/foundationdb/command/exclusion-status.ts'

import {
  type CommandSetting,
  CONNECTION,
  installFdbcli,
  MemoryApi,
  putCluster,
  runFdb,
  statusDocument,
} from './command-stage.ts'

let api: MemoryApi
beforeEach(() => {
  api = new MemoryApi()
})
const restart = (setting: CommandSetting) =>
  runFdb(api, () => import('../../../../activities/foundationdb/command/restart.ts'), setting)
let nowMs = 0
const CLOCK = { nowMs: () => nowMs, pause: (ms: number) => Promise.resolve((nowMs += ms)) }
const exclusionStatus = (setting: CommandSetting) =>
  runFdb(api, () => Promise.resolve({ run: (start) => runExclusionStatus(start, CLOCK) }), setting)
const show = () => runFdb(api, () => import('../../../../activities/foundationdb/command/show-connection-string.ts'))
const update = (...words: readonly string[]) =>
  runFdb(api, () => import('../../../../activities/foundationdb/command/update-connection-string.ts'), { words })

const ALL = { 'storage-1': {}, 'storage-2': {}, 'log-1': {} }

describe('pawl fdb restart', () => {
  it('kills the processes of the process groups through the database', async () => {
    putCluster(api)
    const { env, commands } = await installFdbcli(statusDocument(ALL))
    const { lines, questions } = await restart({ words: ['storage-2', 'sample-log-1'], env })
    expect(questions).toEqual(['Restart 2 processes in 2 process groups of FoundationDBCluster "shop/sample"?'])
    expect(await commands()).toEqual(['status json', 'kill; kill 10.1.0.2:4501 10.1.0.3:4501; sleep 5'])
    expect(lines).toEqual([
      '2 processes in 2 process groups of FoundationDBCluster "shop/sample" ended; their monitors start them again',
    ])
  })

  it('rejects a process group without a process, and leaves it out of all processes', async () => {
    putCluster(api)
    const { env, commands } = await installFdbcli(statusDocument({ 'storage-1': {}, 'storage-2': {}, other: {} }))
    await expect(restart({ words: ['log-1'], env })).rejects.toThrow(
      'FoundationDBCluster "shop/sample": log-1: no process reports to the database, so it cannot be restarted; delete the Pod instead',
    )
    const { lines } = await restart({ given: { 'all-processes': true }, env })
    expect((await commands()).at(-1)).toBe('kill; kill 10.1.0.1:4501 10.1.0.2:4501; sleep 5')
    expect(lines[1]).toBe('not restarted, because no process reports: log-1')
  })

  it('explains that the addresses of Pods cannot be reached from this machine', async () => {
    const document = {
      client: {
        coordinators: { coordinators: [{ address: '10.1.0.1:4501', reachable: false }], quorum_reachable: false },
      },
    }
    const { env } = await installFdbcli(document)
    putCluster(api)
    await expect(restart({ words: ['log-1'], env })).rejects.toThrow(
      'FoundationDBCluster "shop/sample": no coordinator (10.1.0.1:4501, 10.1.0.2:4501, 10.1.0.3:4501) answers to this machine; the controller reaches the database; run this command where addresses of Pods can be reached, for example in a Pod',
    )
    putCluster(api, {}, { health: { available: false } })
    await expect(restart({ words: ['log-1'], env })).rejects.toThrow(
      /the controller reports an unavailable database, too; see pawl fdb analyze sample -n shop$/,
    )
    await expect(restart({ words: ['log-1'] })).rejects.toThrow(
      'PATH: fdbcli of version "7.1.67" is missing; install it, or name its folder with --fdb-bin or PAWL_FDB_BIN',
    )
  })
})

describe('pawl fdb exclusion-status', () => {
  it('shows the bytes that each excluded process still stores', async () => {
    putCluster(api)
    const { env } = await installFdbcli(
      statusDocument({
        'storage-1': { excluded: true, bytes: 3 * 2 ** 20 },
        'storage-2': { bytes: 9 },
        'log-1': { excluded: true, roles: [] },
      }),
    )
    expect((await exclusionStatus({ env })).lines).toEqual([
      '3.0 MiB left: 1 of 2 excluded processes not finished (roles: storage)',
      'PROCESS GROUP   ADDRESS             ROLES     LEFT',
      'log-1           10.1.0.3:4501:tls   -         excluded',
      'storage-1       10.1.0.1:4501:tls   storage   3.0 MiB',
    ])
  })

  it('repeats with an estimate until the exclusions are complete', async () => {
    const at = (bytes: number) => statusDocument({ 'storage-1': { excluded: true, bytes } })
    const removed = [{ processGroupID: 'storage-1', processClass: 'storage', remove: true }]
    putCluster(api, {}, { processGroups: removed })
    const { env } = await installFdbcli(
      statusDocument(ALL),
      at(4000),
      at(1000),
      statusDocument({ 'storage-1': { excluded: true, roles: [] } }),
    )
    const { lines, progress } = await exclusionStatus({ env, given: { interval: '30s' } })
    expect(progress).toEqual([
      'no process is excluded; to be excluded next: storage-1',
      '3.9 KiB left (0 % moved): 1 of 1 excluded process not finished (roles: storage)',
      '1000 B left (75 % moved): 1 of 1 excluded process not finished (roles: storage); 100 B/s, about 10 s left',
    ])
    expect(lines[0]).toBe('1 excluded process without data and roles')
  })

  it('reports that no process is excluded, and rejects other intervals', async () => {
    putCluster(api)
    const { env } = await installFdbcli(statusDocument(ALL))
    expect((await exclusionStatus({ env })).lines).toEqual(['no process is excluded'])
    await expect(exclusionStatus({ env, given: { interval: '1ms' } })).rejects.toThrow(
      '--interval: found "1ms"; expected a duration of at least 1s, such as 30s',
    )
  })
})

describe('pawl fdb connection-string', () => {
  it('shows the connection string alone, for a cluster file', async () => {
    putCluster(api)
    expect((await show()).lines).toEqual([CONNECTION])
    putCluster(api, {}, { connectionString: '' })
    await expect(show()).rejects.toThrow(
      'FoundationDBCluster "shop/sample": status.connectionString is missing: its database does not exist yet; see pawl why fdb/sample -n shop',
    )
  })

  it('replaces the connection string in the status', async () => {
    putCluster(api)
    const { questions } = await update('sample:def@10.1.0.9:4501')
    expect(questions).toEqual([
      `Replace the connection string of FoundationDBCluster "shop/sample" (now: "${CONNECTION}")?`,
    ])
    expect(api.writes).toEqual(['patch sample/status {"status":{"connectionString":"sample:def@10.1.0.9:4501"}}'])
    expect((await update('sample:def@10.1.0.9:4501')).questions).toEqual([])
    await expect(update('sample@10.1.0.9')).rejects.toThrow(
      'connection string: text: found "sample@10.1.0.9"; expected description:id@address,address',
    )
  })
})
