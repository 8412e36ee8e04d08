import { beforeEach, describe, expect, it } from 'vitest'

import { crashLoop, emptyMonitorConf, noSchedule } from '../../../../activities/foundationdb/command/buggify.ts'

import { type CommandSetting, MemoryApi, putCluster, runFdb } from './command-stage.ts'

let api: MemoryApi
beforeEach(() => {
  api = new MemoryApi()
})
const crash = (setting: CommandSetting) => runFdb(api, () => Promise.resolve({ run: crashLoop }), setting)
const schedule = (setting: CommandSetting) => runFdb(api, () => Promise.resolve({ run: noSchedule }), setting)
const empty = (setting: CommandSetting) => runFdb(api, () => Promise.resolve({ run: emptyMonitorConf }), setting)

const TITLE = 'FoundationDBCluster "shop/sample"'

describe('pawl fdb buggify crash-loop', () => {
  it('adds process groups by ID or Pod name, and keeps other containers', async () => {
    const other = { containerName: 'other', targets: ['log-1'] }
    putCluster(api, { buggify: { crashLoopContainers: [other] } })
    const { questions, lines } = await crash({ words: ['storage-1', 'sample-log-1'] })
    expect(questions).toEqual([`Add storage-1, log-1 to the crash loops of container "foundationdb" of ${TITLE}?`])
    expect(lines).toEqual([
      `${TITLE}: added storage-1, log-1 to the crash loops of container "foundationdb"`,
      '  watch: pawl why fdb/sample -n shop',
    ])
    const added = { containerName: 'foundationdb', targets: ['storage-1', 'log-1'] }
    expect(api.writes).toEqual([
      `patch sample ${JSON.stringify({ spec: { buggify: { crashLoopContainers: [other, added] } } })}`,
    ])
  })

  it('removes process groups from the deprecated list, too, also if they do not exist any more', async () => {
    const containers = [{ containerName: 'foundationdb', targets: ['storage-1', 'storage-9'] }]
    putCluster(api, { buggify: { crashLoopContainers: containers, crashLoop: ['storage-1', 'log-1'] } })
    await crash({ words: ['storage-9', 'sample-storage-1'], given: { clear: true } })
    expect(api.writes).toEqual(['patch sample {"spec":{"buggify":{"crashLoopContainers":[],"crashLoop":["log-1"]}}}'])
  })

  it('rejects process groups together with --clean, and without both', async () => {
    putCluster(api)
    await expect(crash({ words: ['storage-1'], given: { clean: true } })).rejects.toThrow(
      'buggify crash-loop: found 1 process groups and --clean; expected process groups or --clean',
    )
    await expect(crash({})).rejects.toThrow('found 0 process groups; expected process groups or --clean')
    await expect(crash({ words: ['storage-7'] })).rejects.toThrow('status.processGroups: "storage-7" is missing')
  })
})

describe('pawl fdb buggify no-schedule', () => {
  it('adds, removes and cleans', async () => {
    putCluster(api, { buggify: { noSchedule: ['log-1'], emptyMonitorConf: true } })
    await schedule({ words: ['storage-1'] })
    await schedule({ words: ['log-1'], given: { clear: true } })
    const { questions } = await schedule({ given: { clean: true } })
    expect(questions).toEqual([`Remove all process groups from the Pods that no Node accepts of ${TITLE}?`])
    expect(api.writes.map((write) => write.replace('patch sample ', ''))).toEqual([
      '{"spec":{"buggify":{"noSchedule":["log-1","storage-1"]}}}',
      '{"spec":{"buggify":{"noSchedule":["storage-1"]}}}',
      '{"spec":{"buggify":{"noSchedule":[]}}}',
    ])
  })

  it('changes nothing if the list is as requested, and after the answer no', async () => {
    putCluster(api, { buggify: { noSchedule: ['log-1'] } })
    expect((await schedule({ words: ['log-1'] })).lines).toEqual([`${TITLE}: nothing to change`])
    expect(await schedule({ words: ['storage-1'], agrees: false })).toMatchObject({ exitCode: 1 })
    expect(api.writes).toEqual([])
  })
})

describe('pawl fdb buggify empty-monitor-conf', () => {
  it('stops and starts the processes of a cluster', async () => {
    putCluster(api)
    expect((await empty({})).questions).toEqual([`Stop all processes of ${TITLE}?`])
    expect((await empty({ given: { 'set-value': 'false' } })).questions).toEqual([`Start the processes of ${TITLE}?`])
    expect(api.writes).toEqual([
      'patch sample {"spec":{"buggify":{"emptyMonitorConf":true}}}',
      'patch sample {"spec":{"buggify":{"emptyMonitorConf":false}}}',
    ])
    await expect(empty({ given: { 'set-value': 'no' } })).rejects.toThrow('found "no"; expected true or false')
  })
})
