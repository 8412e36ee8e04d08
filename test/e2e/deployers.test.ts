// Deployers written by others beside those of Pawl, and objects that people trigger by hand, without an Installation.
// Source: spec/landscaper.md 4.9, 1.3.

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { API, execution, installation, type Item, item, type LsObject } from '../support/cluster.ts'
import { Deployer } from '../support/deployer.ts'
import { useStage } from '../support/stage.ts'

const stage = useStage('deployers')

describe.concurrent('items of foreign and of built-in types in one execution', () => {
  it('run in the order of their dependencies, hand on their exports, and are deleted in reverse', async () => {
    const { cluster } = stage
    const seen: string[] = []
    const note = (verb: string) => (it: LsObject) => {
      seen.push(`${verb} ${it.metadata.labels?.['execution.landscaper.gardener.cloud/name'] ?? ''}`)
      return 'done' as const
    }
    const type = 'example.org/mixed'
    const behaviour = { install: note('install'), uninstall: note('uninstall'), exports: { port: 80 } }
    const deployer = Deployer.start(cluster, type, behaviour)
    const items: Item[] = [
      { name: 'base' },
      { name: 'middle', type, dependsOn: ['base'] },
      { name: 'top', dependsOn: ['middle'], config: { export: { url: 'http://top' } } },
      { name: 'roof', type, dependsOn: ['top'] },
    ]
    await cluster.create(installation('mixed', items), 'installations')
    const root = await cluster.finished('mixed')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(seen).toEqual(['install middle', 'install roof'])
    const finished = (await cluster.get('executions', 'mixed'))?.status
    expect(finished?.['conditions']).toMatchObject([
      { type: 'Ready', status: 'True' },
      { type: 'DeployItemsFinished', status: 'True', reason: 'JobFinished' },
    ])
    const exported = await cluster.get('dataobjects', finished?.exportRef?.name ?? '')
    expect(exported?.['data']).toEqual({ middle: { port: 80 }, top: { url: 'http://top' }, roof: { port: 80 } })

    await cluster.delete('installations', 'mixed')
    await cluster.gone('mixed')
    expect(seen.slice(2)).toEqual(['uninstall roof', 'uninstall middle'])
    await deployer.stop()
  })

  it('fail the execution when the foreign one fails', async () => {
    const { cluster } = stage
    const type = 'example.org/bad'
    const deployer = Deployer.start(cluster, type, { install: () => 'failed' })
    await cluster.create(
      installation('bad', [
        { name: 'bad', type },
        { name: 'next', dependsOn: ['bad'] },
      ]),
      'installations',
    )
    expect((await cluster.finished('bad')).status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.phases('bad')).toEqual({ bad: 'Failed', next: undefined })
    await deployer.stop()
  })
})

describe.concurrent('an item of a type that nobody serves', () => {
  it('waits, and its execution says for whom', async () => {
    const { cluster } = stage
    const type = 'example.org/nobody'
    await cluster.create(installation('nobody', [{ name: 'alone', type }, { name: 'own' }]), 'installations')
    await cluster.until('installations', 'nobody', (root) => root?.status?.phase === 'Progressing')
    const items = await cluster.items('nobody')
    expect(items.get('own')?.status).toMatchObject({ phase: 'Succeeded' })

    expect((await cluster.get('executions', 'nobody'))?.status).toMatchObject({
      phase: 'Progressing',
      conditions: [
        { type: 'Ready', status: 'Unknown', reason: 'Progressing' },
        { type: 'Reconciling', status: 'True', reason: 'Progressing' },
        {
          type: 'DeployItemsFinished',
          status: 'False',
          reason: 'WaitingForDeployers',
          message:
            'items whose deployers are not part of Pawl: alone (example.org/nobody); each waits for a deployer of its type',
        },
      ],
    })
    expect(items.get('alone')?.status).toMatchObject({ jobID: items.get('own')?.status?.jobID })
    expect(items.get('alone')?.status?.phase).toBeUndefined()

    const deployer = Deployer.start(cluster, type)
    expect((await cluster.finished('nobody')).status).toMatchObject({ phase: 'Succeeded' })
    await deployer.stop()
  })
})

const GRAPH: readonly Item[] = [{ name: 'b', dependsOn: ['a'] }, { name: 'a' }]

describe.concurrent('an execution without an installation', () => {
  it('waits for a job ID, runs by it, and runs again by another one', async () => {
    const { cluster, pawl } = stage
    const created = await cluster.create(execution('plain', GRAPH), 'executions')
    await pawl.settled(created)
    expect((await cluster.get('executions', 'plain'))?.status).toBeUndefined()
    expect((await cluster.items('plain')).size).toBe(0)

    await cluster.patch('executions', 'plain', { status: { jobID: 'by-hand-1' } }, 'status')
    const first = await cluster.finished('plain', undefined, 'executions')
    expect(first.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'by-hand-1' })
    await cluster.patch('executions', 'plain', { status: { jobID: 'by-hand-2' } }, 'status')
    const second = await cluster.finished('plain', 'by-hand-1', 'executions')
    expect(second.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: 'by-hand-2' })
    expect([...(await cluster.items('plain')).values()].map(({ status }) => status?.jobIDFinished)).toEqual([
      'by-hand-2',
      'by-hand-2',
    ])
  })

  it('is read in the compressed form too', async () => {
    const { cluster } = stage
    const deployItemsCompressed = gzipSync(JSON.stringify(GRAPH.map(item))).toString('base64')
    const spec = { deployItemsCompressed }
    await cluster.create({ apiVersion: API, kind: 'Execution', metadata: { name: 'packed' }, spec }, 'executions')
    await cluster.patch('executions', 'packed', { status: { jobID: 'job' } }, 'status')
    const finished = await cluster.finished('packed', undefined, 'executions')
    expect(finished.status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.phases('packed')).toEqual({ a: 'Succeeded', b: 'Succeeded' })
  })

  it('says what is wrong with a compressed form that cannot be read', async () => {
    const { cluster } = stage
    const spec = { deployItemsCompressed: Buffer.from('no archive').toString('base64') }
    await cluster.create({ apiVersion: API, kind: 'Execution', metadata: { name: 'garbage' }, spec }, 'executions')
    await cluster.patch('executions', 'garbage', { status: { jobID: 'job' } }, 'status')
    const failed = await cluster.finished('garbage', undefined, 'executions')
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { reason: 'ERR_CONFIGURATION_PROBLEM', codes: ['ERR_CONFIGURATION_PROBLEM'] },
    })
  })
})
