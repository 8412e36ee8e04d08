// Items that are deployed in one pass, with fake activities.

import { describe, expect, it } from 'vitest'
import { deployer as manifestDeployer } from '../../../../activities/landscaper/deploy/manifest/deployer.ts'
import type { QuickItemsInput, QuickItemsResult } from '../../../../activities/landscaper/deploy/run/answer-items.ts'
import type { ItemInput } from '../../../../activities/landscaper/deploy/run/run-item.ts'
import type { SendResult } from '../../../../activities/landscaper/deploy/run/item-activities.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type {
  DeployActivities,
  DeployPass,
  DeployState,
  ItemActivities,
} from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { deployItems, runItem } from '../../../../workflows/landscaper/deploy-item/deploy-items.ts'
import { again, done, type Outcome } from '../../../../workflows/kit/index.ts'
import { HeldTracks } from '../held-tracks.ts'
import { itemView, JOB } from './item-view.ts'

describe('items of quick deployers', () => {
  it('run in one batch, and are read at least as new as known', async () => {
    const { pass, inputs } = passOver([itemView('a'), finished('b'), { ...itemView('c'), version: '12' }], succeed)
    const [a, , c] = pass.state.deployItems
    expect(await deployItems(pass, [a!, c!], false)).toEqual(done)
    expect(inputs).toMatchObject([
      {
        items: [
          { uid: 'uid-a', item: 'a' },
          { uid: 'uid-c', item: 'c' },
        ],
        ownVersion: 12,
        jobID: JOB,
        isHosted: false,
      },
    ])
    expect(pass.state.deployItems.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
      ['a', JOB],
      ['b', JOB],
      ['c', JOB],
    ])
  })

  it('disappear from the state if they are deleted', async () => {
    const { pass } = passOver([itemView('a'), itemView('b')], ({ items }) => ({
      items: [],
      gone: items.map(({ uid }) => uid),
      failures: [],
    }))
    expect(await deploy(pass)).toEqual(done)
    expect(pass.state.deployItems).toEqual([])
  })

  it('get a pass at the first timeout of a waiting item', async () => {
    const waiting = [
      { ...itemView('a'), remainingMs: 7000 },
      { ...itemView('b'), remainingMs: 3000 },
      { ...itemView('c'), remainingMs: undefined },
    ]
    const { pass } = passOver(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deploy(pass)).toEqual(again(3000))
  })

  it('get a pass after one second at the earliest if the timeout has passed', async () => {
    const waiting = [{ ...itemView('a'), remainingMs: -7000 }]
    const { pass } = passOver(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deploy(pass)).toEqual(again(1000))
  })

  it('are retried after a failure, and the results of the others are applied', async () => {
    const failures = [{ object: 'exec-b', code: 'Invalid', message: 'no' }]
    const { pass } = passOver([itemView('a'), itemView('b')], () => ({ items: [finished('a')], gone: [], failures }))
    const { faults, againMs } = await deploy(pass)
    expect(againMs).toBe(5000)
    expect(faults).toEqual([{ code: 'Invalid', message: 'exec-b: no', retryable: true }])
    expect(pass.state.deployItems.map(({ jobIDFinished }) => jobIDFinished)).toEqual([JOB, 'job-1'])
  })
})

describe('items of long deployers', () => {
  const manifest = (item: string): DeployItemView => ({ ...itemView(item), type: manifestDeployer.type })

  it('get one common first attempt, after the batch of quick items', async () => {
    const { pass, inputs, tracks, calls } = passOver([manifest('a'), itemView('b'), manifest('gone')], succeed)
    expect(await deploy(pass)).toEqual(done)
    expect(inputs).toMatchObject([{ items: [{ uid: 'uid-b', item: 'b' }] }])
    expect(calls).toEqual(['send a, gone'])
    expect(pass.state.deployItems.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
      ['a', JOB],
      ['b', JOB],
    ])
    expect(tracks.held.size).toBe(0)
  })

  it('continue in their own background activities if the first attempt has not ended them', async () => {
    const { pass, tracks, calls } = passOver([manifest('late'), manifest('slow')], succeed)
    expect(await deploy(pass)).toEqual(done)
    expect([...tracks.held.keys()]).toEqual(['uid-late', 'uid-slow'])
    for (const work of tracks.held.values()) await work()
    expect(calls).toEqual(['send late, slow', 'apply late', 'await slow'])
    // They are on their tracks now.
    await deploy(pass)
    expect(calls).toHaveLength(3)
  })

  it.each([
    ['is applied', manifest('a'), ['apply a']],
    ['is applied and waited for', manifest('slow'), ['apply slow', 'await slow']],
    ['is taken away', { ...manifest('a'), uninstalls: true }, ['uninstall a']],
  ])('each %s', async (_, item, expected) => {
    const { pass, calls } = passOver([item, manifest('z')], succeed)
    const change = await runItem(pass, item, { isSent: false, isHosted: false })
    expect(calls).toEqual(expected)
    const after = change(pass.state).deployItems.map(({ item: name, jobIDFinished }) => [name, jobIDFinished])
    expect(after).toEqual(
      item.uninstalls
        ? [['z', 'job-1']]
        : [
            [item.item, JOB],
            ['z', 'job-1'],
          ],
    )
  })
})

describe('items that their Execution hosts', () => {
  const fresh = (item: string): DeployItemView => ({ ...itemView(item), jobID: 'job-1', phase: 'Succeeded' })
  const manifest = (item: string): DeployItemView => ({ ...fresh(item), type: manifestDeployer.type })

  it('are deployed before they have the job, and every call says so', async () => {
    const { pass, inputs, hosted, tracks } = passOver([fresh('a'), manifest('b'), manifest('late')], succeed)
    expect(await deployItems(pass, pass.state.deployItems, true)).toEqual(done)
    expect(inputs).toMatchObject([{ items: [{ uid: 'uid-a', item: 'a' }], isHosted: true }])
    for (const work of tracks.held.values()) await work()
    expect(hosted).toEqual(['send true', 'apply true'])
  })

  it('are only those that the caller passes; other background activities continue', async () => {
    const { pass, inputs, tracks } = passOver([fresh('a'), fresh('b')], succeed)
    await deployItems(pass, [fresh('b')], true)
    expect(inputs).toMatchObject([{ items: [{ uid: 'uid-b', item: 'b' }] }])
    expect(tracks.retained).toBeUndefined()
  })
})

function finished(item: string): DeployItemView {
  return { ...itemView(item), phase: 'Succeeded', jobIDFinished: JOB }
}

function succeed({ items }: QuickItemsInput): QuickItemsResult {
  return { items: items.map(({ item }) => finished(item)), gone: [], failures: [] }
}

async function deploy(pass: DeployPass<DeployState>): Promise<Outcome> {
  return await deployItems(pass, pass.state.deployItems, false)
}

/** A pass over the items, and what their deployers were asked. */
function passOver(items: readonly DeployItemView[], answer: (input: QuickItemsInput) => QuickItemsResult) {
  const inputs: QuickItemsInput[] = []
  const calls: string[] = []
  const hosted: string[] = []
  const tracks = new HeldTracks<DeployState>()
  const act: DeployActivities = {
    deployMockItems(input) {
      inputs.push(input)
      return Promise.resolve(answer(input))
    },
    sendItems({ items: sent, isHosted }) {
      hosted.push(`send ${isHosted}`)
      const all = sent.map(({ uid }) => uid.replace('uid-', ''))
      calls.push(`send ${all.join(', ')}`)
      return Promise.resolve({ sent: all.flatMap(firstTry) })
    },
    forItem: (item) => itemCalls(item, calls, hosted),
  }
  const pass: DeployPass<DeployState> = {
    subject: { kind: 'Execution', uid: 'uid-exec', namespace: 'n', name: 'exec' },
    jobID: JOB,
    by: { workflowID: `execution/n/exec/uid-exec/${JOB}`, runID: 'run', pass: 1 },
    act,
    state: { deployItems: items },
    background: tracks,
  }
  return { pass, inputs, tracks, calls, hosted }
}

/** Calls that are noted; the item `slow` is not ready at first, `gone` is not there. */
function itemCalls(item: string, calls: string[], hosted: string[]): ItemActivities {
  const answer =
    (call: string) =>
    ({ isHosted }: ItemInput) => {
      hosted.push(`${call} ${isHosted}`)
      calls.push(`${call} ${item}`)
      const after =
        call === 'uninstall' || item === 'gone' ? undefined : { ...finished(item), type: manifestDeployer.type }
      return Promise.resolve({ item: after, isWaiting: call === 'apply' && item === 'slow' })
    }
  return { applyItem: answer('apply'), awaitItem: answer('await'), uninstallItem: answer('uninstall') }
}

/** What comes of the first try of an item: of `late` nothing yet. */
function firstTry(item: string): SendResult['sent'] {
  if (item === 'late') return []
  const after = item === 'gone' ? undefined : { ...finished(item), type: manifestDeployer.type }
  return [
    {
      uid: `uid-${item}`,
      result: item === 'slow' ? { item: itemView(item), isWaiting: true } : { item: after, isWaiting: false },
    },
  ]
}
