import { beforeEach, describe, expect, it } from 'vitest'

import { MemoryApi, putCluster, runFdb, secondsAgo, stopClock, type CommandSetting } from './command-stage.ts'

const SAMPLE = '/apis/apps.foundationdb.org/v1beta2/namespaces/shop/foundationdbclusters/sample'
stopClock()
let api: MemoryApi
beforeEach(() => {
  api = new MemoryApi()
})
const remove = (setting: CommandSetting) =>
  runFdb(api, () => import('../../../../activities/foundationdb/command/remove-process-groups.ts'), setting)
const cordon = (setting: CommandSetting) =>
  runFdb(api, () => import('../../../../activities/foundationdb/command/cordon.ts'), setting)

describe('pawl fdb remove process-groups', () => {
  it('adds process groups by ID or Pod name to the list of the spec, and keeps all other fields', async () => {
    putCluster(api, { processGroupsToRemove: ['log-9'] })
    const { lines, questions } = await remove({ words: ['storage-1', 'sample-log-1', 'storage-1'] })
    expect(questions).toEqual(['Remove 2 process groups of FoundationDBCluster "shop/sample" (storage-1, log-1)?'])
    expect(lines[0]).toBe(
      'FoundationDBCluster "shop/sample" will remove 2 process groups after their data has moved away: storage-1, log-1',
    )
    expect(api.get(SAMPLE)).toMatchObject({
      spec: { processGroupsToRemove: ['log-9', 'storage-1', 'log-1'], unknownField: 'kept' },
    })
  })

  it('adds to the newest list if another client has changed it meanwhile', async () => {
    putCluster(api)
    let isFirst = true
    api.beforeWrite = () => {
      if (isFirst) putCluster(api, { processGroupsToRemove: ['storage-2'] })
      isFirst = false
    }
    await remove({ words: ['storage-1'] })
    expect(api.writes).toEqual(['patch sample {"spec":{"processGroupsToRemove":["storage-2","storage-1"]}}'])
  })

  it('uses the alias of the list that the spec uses', async () => {
    putCluster(api, { instancesToRemove: ['storage-2'] })
    await remove({ words: ['storage-1'] })
    expect(api.writes).toEqual(['patch sample {"spec":{"instancesToRemove":["storage-2","storage-1"]}}'])
  })

  it.each([{ 'without-exclusion': true as const }, { exclusion: 'false' }])(
    'skips the exclusion with %j, after another question',
    async (given) => {
      putCluster(api)
      const { questions } = await remove({ words: ['storage-1'], given })
      expect(questions[0]).toContain(' without moving data away first (storage-1)?')
      expect(api.writes).toEqual(['patch sample {"spec":{"processGroupsToRemoveWithoutExclusion":["storage-1"]}}'])
    },
  )

  it('removes all process groups that have failed for five minutes', async () => {
    const failed = (processGroupID: string, seconds: number) => ({
      processGroupID,
      processClass: 'storage',
      processGroupConditions: [{ type: 'PodFailing', timestamp: secondsAgo(seconds) }],
    })
    putCluster(api, {}, { processGroups: [failed('storage-1', 100), failed('storage-2', 400)] })
    await remove({ given: { 'remove-all-failed': true } })
    expect(api.writes).toEqual(['patch sample {"spec":{"processGroupsToRemove":["storage-2"]}}'])
  })

  it('changes nothing after the answer no, for marked process groups, and for unknown words', async () => {
    putCluster(
      api,
      {},
      {
        processGroups: [
          { processGroupID: 'storage-1', processClass: 'storage', remove: true },
          { processGroupID: 'log-1', processClass: 'log' },
        ],
      },
    )
    expect(await remove({ words: ['log-1'], agrees: false })).toMatchObject({
      lines: ['nothing was changed'],
      exitCode: 1,
    })
    expect(await remove({ words: ['storage-1'] })).toMatchObject({
      lines: ['FoundationDBCluster "shop/sample": storage-1: the removal is in progress already'],
      questions: [],
    })
    await expect(remove({ words: ['storage-9'] })).rejects.toThrow(
      'FoundationDBCluster "shop/sample": status.processGroups: "storage-9" is missing; expected storage-1, log-1',
    )
    await expect(remove({})).rejects.toThrow('expected process groups or --remove-all-failed')
    await expect(remove({ words: ['log-1'], given: { exclusion: 'no' } })).rejects.toThrow(
      '--exclusion: found "no"; expected true or false',
    )
    expect(api.writes).toEqual([])
  })
})

describe('pawl fdb cordon', () => {
  it('removes the process groups on the Nodes, and names Nodes without any', async () => {
    putCluster(api)
    const { lines } = await cordon({ words: ['node-0', 'node-2', 'node-7'] })
    expect(api.writes).toEqual(['patch sample {"spec":{"processGroupsToRemove":["storage-1","log-1"]}}'])
    expect(lines).toContain('no process group runs on node-7')
    expect(lines.at(-1)).toContain('kubectl cordon node-0 node-2 node-7')
  })

  it('finds Nodes by their labels', async () => {
    putCluster(api)
    api.put('/api/v1/nodes', { metadata: { name: 'node-1', labels: { pool: 'old' } } })
    await cordon({ given: { 'node-selector': 'pool=old' } })
    expect(api.writes).toEqual(['patch sample {"spec":{"processGroupsToRemove":["storage-2"]}}'])
    await expect(cordon({ given: { 'node-selector': 'pool=new' } })).rejects.toThrow(
      '--node-selector: no Node has the labels "pool=new"; check them',
    )
    await expect(cordon({})).rejects.toThrow('expected names of Nodes or --node-selector')
  })

  it('changes nothing if no process group runs on the Nodes', async () => {
    putCluster(api)
    expect((await cordon({ words: ['node-7'] })).lines).toEqual(['nothing to remove: no process group runs on node-7'])
  })
})
