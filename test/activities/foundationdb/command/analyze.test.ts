import { beforeEach, describe, expect, it } from 'vitest'

import { MemoryApi, putCluster, putPod, runFdb, secondsAgo, stopClock, type CommandSetting } from './command-stage.ts'

const load = () => import('../../../../activities/foundationdb/command/analyze.ts')
stopClock()
let api: MemoryApi
beforeEach(() => {
  api = new MemoryApi()
})
const analyze = (setting?: CommandSetting) => runFdb(api, load, setting)
const isoAgo = (seconds: number) => new Date(secondsAgo(seconds) * 1000).toISOString().replace('.000Z', 'Z')

/** The process groups of `putCluster`, with changes of the first. */
function groups(change: object) {
  return ['storage-1', 'storage-2', 'log-1'].map((processGroupID, index) => ({
    processGroupID,
    processClass: processGroupID.replace(/-\d+$/, ''),
    faultDomain: `node-${index}`,
    ...(index === 0 ? change : {}),
  }))
}

const missing = (seconds: number) => ({
  processGroupConditions: [{ type: 'MissingProcesses', timestamp: secondsAgo(seconds) }],
})

describe('pawl fdb analyze', () => {
  it('reports a healthy cluster in one line, and ends with exit code 0', async () => {
    putCluster(api)
    expect(await analyze()).toMatchObject({
      lines: [
        'FoundationDBCluster "shop/sample" is healthy: available, fully replicated and reconciled, with 3 process groups and 3 Pods',
      ],
      exitCode: 0,
    })
  })

  it('reports an unavailable database, the blocked step and conditions with their time, and ends with exit code 3', async () => {
    putCluster(api, {}, {
      generations: { reconciled: 1 },
      health: { available: false, fullReplication: false },
      conditions: [{ type: 'Reconciled', status: 'False', reason: 'AddPods', message: 'a Pod cannot start' }],
      processGroups: groups(missing(720)),
    } as object)
    const { lines, exitCode } = await analyze()
    expect(exitCode).toBe(3)
    expect(lines).toEqual([
      'FoundationDBCluster "shop/sample" has 4 problems',
      '  problem: the database is unavailable',
      '  problem: some data has fewer copies than redundancy_mode requires',
      '  problem: generation 2 is not reconciled: AddPods: a Pod cannot start',
      `  problem: process group storage-1: MissingProcesses since ${isoAgo(720)} (12 min)`,
    ])
  })

  it('leaves out ignored conditions and removals', async () => {
    putCluster(api, {}, { processGroups: groups(missing(720)) })
    expect(await analyze({ given: { 'ignore-condition': 'MissingPod,MissingProcesses' } })).toMatchObject({
      exitCode: 0,
    })
    putCluster(api, {}, { processGroups: groups({ removalTimestamp: isoAgo(61), remove: true }) })
    expect((await analyze()).lines.slice(1)).toEqual([
      `  warning: process group storage-1 is being removed since ${isoAgo(61)} (1 min 1 s); its data has not moved away yet`,
    ])
    expect((await analyze({ given: { 'ignore-removals': true } })).lines).toHaveLength(1)
    await expect(analyze({ given: { 'ignore-condition': 'Missing' } })).rejects.toThrow(
      /^--ignore-condition: found "Missing"; expected one of IncorrectPodSpec, /,
    )
  })

  it('reports Pods that do not run, are stuck, or belong to no process group', async () => {
    putCluster(api)
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }
    putPod(api, 'storage-1', {
      status: { phase: 'Pending', containerStatuses: [{ name: 'foundationdb', state: waiting }] },
    })
    putPod(api, 'storage-2', {
      status: {
        phase: 'Pending',
        conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }],
      },
    })
    putPod(api, 'log-1', {}, { deletionTimestamp: isoAgo(360) })
    putPod(api, 'log-7')
    expect((await analyze()).lines).toEqual([
      'FoundationDBCluster "shop/sample" has 4 problems',
      '  problem: Pod sample-storage-1: container foundationdb is not ready: ImagePullBackOff: no such image',
      '  problem: Pod sample-storage-2 is Pending: 0/3 nodes are available',
      `  problem: Pod sample-log-1 is stuck: it terminates since ${isoAgo(360)} (6 min)`,
      '  problem: Pod sample-log-7 belongs to no process group in the status (its label: log-7)',
    ])
  })

  it('compares the fault domains of each class with the minimum of the redundancy mode', async () => {
    putCluster(api, { databaseConfiguration: { redundancy_mode: 'double' } })
    expect((await analyze()).lines.slice(1)).toEqual([
      '  warning: class storage: its process groups are in 2 fault domains, the minimum: after the loss of one, data has too few copies',
    ])
    putCluster(
      api,
      { databaseConfiguration: { redundancy_mode: 'double' } },
      { processGroups: groups({ faultDomain: 'node-1' }) },
    )
    expect((await analyze()).lines[1]).toBe(
      '  problem: class storage: its process groups are in 1 fault domain; expected at least 2',
    )
  })

  it('replaces failed process groups and deletes ended Pods with --auto-fix, after a question for each', async () => {
    putCluster(api, {}, { processGroups: groups(missing(720)) })
    const terminated = { exitCode: 1, finishedAt: isoAgo(2400), reason: 'Error' }
    putPod(api, 'log-1', {
      status: { phase: 'Running', containerStatuses: [{ name: 'foundationdb', state: { terminated } }] },
    })
    expect(await analyze({ given: { 'auto-fix': true }, agrees: false })).toMatchObject({
      questions: [
        'Remove 1 process group of FoundationDBCluster "shop/sample" (storage-1)?',
        'Delete the Pods sample-log-1 of FoundationDBCluster "shop/sample"?',
      ],
    })
    expect(api.writes).toEqual([])
    await analyze({ given: { 'auto-fix': true } })
    expect(api.writes).toEqual([
      'patch sample {"spec":{"processGroupsToRemove":["storage-1"]}}',
      'delete sample-log-1 {"preconditions":{"uid":"sample-log-1"}}',
    ])
  })

  it('repairs nothing that has failed for less than five minutes', async () => {
    putCluster(api, {}, { processGroups: groups(missing(300)) })
    const { lines } = await analyze({ given: { 'auto-fix': true } })
    expect(lines.at(-1)).toBe('FoundationDBCluster "shop/sample": found nothing that --auto-fix can repair')
    expect(api.writes).toEqual([])
  })

  it('needs a name where the namespace has several clusters', async () => {
    await expect(analyze()).rejects.toThrow('namespace "shop" has no FoundationDBCluster; check -n')
    await expect(analyze({ words: ['other'] })).rejects.toThrow(
      'FoundationDBCluster "shop/other" does not exist; check its name and -n',
    )
    putCluster(api)
    api.put('/apis/apps.foundationdb.org/v1beta2/namespaces/shop/foundationdbclusters', {
      metadata: { name: 'second', generation: 1 },
      spec: { version: '7.1.67' },
    })
    await expect(analyze()).rejects.toThrow(
      'analyze: the cluster is missing: namespace "shop" has 2 FoundationDBClusters; expected one of sample, second',
    )
    const { lines } = await analyze({ given: { 'all-clusters': true } })
    expect(lines.slice(1)).toEqual([
      'FoundationDBCluster "shop/second" has 1 problem',
      '  problem: the status is empty; check that a bridge and a worker run with the wing foundationdb',
    ])
  })
})
