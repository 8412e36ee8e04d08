import { beforeEach, describe, expect, it } from 'vitest'

import { run } from '../../../../activities/foundationdb/command/fix-coordinator-ips.ts'
import type { ClusterStatus } from '../../../../workflows/foundationdb/cluster/kind.ts'

import { type CommandSetting, CONNECTION, MemoryApi, putCluster, putPod, runFdb } from './command-stage.ts'

let api: MemoryApi
beforeEach(() => {
  api = new MemoryApi()
})
const fix = (setting: CommandSetting = {}) => runFdb(api, () => Promise.resolve({ run }), setting)

const TITLE = 'FoundationDBCluster "shop/sample"'
const group = (processGroupID: string, ...addresses: readonly string[]) => ({ processGroupID, addresses })
const running = (ip: string) => ({ status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] } })

/** The coordinators 10.1.0.1 to 10.1.0.3 of two storage processes and a log. */
function putMovedCluster(status: Partial<ClusterStatus> = {}): void {
  const processGroups = [
    group('storage-1', '10.1.0.1'),
    group('storage-2', '10.1.0.2', '10.1.0.8'),
    group('log-1', '10.1.0.3'),
  ]
  putCluster(api, {}, { processGroups, ...status })
  putPod(api, 'storage-1', running('10.1.0.9'))
  putPod(api, 'storage-2', { status: { phase: 'Pending' } })
  putPod(api, 'log-1', running('10.1.0.3'))
}

const FIXED = 'sample:abc@10.1.0.9:4501,10.1.0.8:4501,10.1.0.3:4501'

describe('pawl fdb fix-coordinator-ips', () => {
  it('replaces the addresses of Pods that have others now, and prints the commands for the running Pods', async () => {
    putMovedCluster()
    const { questions, lines } = await fix()
    expect(questions).toEqual([`Replace the connection string of ${TITLE} by ${FIXED}?`])
    expect(api.writes).toEqual([`patch sample/status {"status":{"connectionString":"${FIXED}"}}`])
    const command = (pod: string) =>
      `  kubectl exec -n shop ${pod} -c foundationdb -- sh -c 'echo "${FIXED}" >/var/fdb/data/fdb.cluster && pkill fdbserver'`
    expect(lines).toEqual([
      `${TITLE} has ${FIXED}`,
      '  10.1.0.1:4501 becomes 10.1.0.9:4501, the address of storage-1',
      '  10.1.0.2:4501 becomes 10.1.0.8:4501, the address of storage-2',
      '  10.1.0.3:4501 stays: it is the address of log-1',
      'then replace the file that the processes read, in every running Pod:',
      command('sample-storage-1'),
      command('sample-log-1'),
    ])
  })

  it('writes nothing with --dry-run, or after the answer no', async () => {
    putMovedCluster()
    const { lines, questions } = await fix({ given: { 'dry-run': true } })
    expect([lines[0], questions]).toEqual([`${TITLE} would get ${FIXED}`, []])
    expect((await fix({ agrees: false })).exitCode).toBe(1)
    expect(api.writes).toEqual([])
  })

  it('keeps flags, DNS names and addresses that no process group has had', async () => {
    const connectionString = 'sample:abc@sample-log-1.sample:4501,10.1.0.1:4500:tls,10.9.9.9:4501'
    putMovedCluster({ connectionString })
    const { lines } = await fix()
    expect(lines.slice(0, 4)).toEqual([
      `${TITLE} has sample:abc@sample-log-1.sample:4501,10.1.0.9:4500:tls,10.9.9.9:4501`,
      '  sample-log-1.sample:4501 stays: no process group of the status has this address',
      '  10.1.0.1:4500:tls becomes 10.1.0.9:4500:tls, the address of storage-1',
      '  10.9.9.9:4501 stays: no process group of the status has this address',
    ])
  })

  it('reports that no address has changed, and another connection string meanwhile', async () => {
    putCluster(api)
    expect((await fix()).lines[0]).toBe(`${TITLE}: no address of a coordinator has changed`)
    putMovedCluster()
    api.beforeWrite = () => {
      api.beforeWrite = () => {}
      putMovedCluster({ connectionString: CONNECTION.replace('abc', 'def') })
    }
    await expect(fix()).rejects.toThrow('status.connectionString has changed meanwhile; run the command again')
  })
})
