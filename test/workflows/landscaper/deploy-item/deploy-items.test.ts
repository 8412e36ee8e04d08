// One pass of a deploy group, with fake activities.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { describe, expect, it } from 'vitest'

import { deployer as manifestDeployer } from '../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { deployer as mockDeployer } from '../../../../activities/landscaper/deploy/mock/deployer.ts'
import type { AnswerInput, AnswerResult } from '../../../../activities/landscaper/deploy/run/answer-items.ts'
import type { ItemInput } from '../../../../activities/landscaper/deploy/run/run-item.ts'
import type { SendResult } from '../../../../activities/landscaper/deploy/run/send-items.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { beginItem } from '../../../../workflows/landscaper/deploy-item/begin-item.ts'
import type {
  DeployGroupActivities,
  DeployGroupPass,
  DeployGroupState,
  ItemActivities,
} from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { deployGroup } from '../../../../workflows/landscaper/deploy-item/deploy-group.ts'
import { deployItems } from '../../../../workflows/landscaper/deploy-item/deploy-items.ts'
import { runItem } from '../../../../workflows/landscaper/deploy-item/run-item.ts'
import { again, done } from '../../../../workflows/kit/index.ts'

import { HeldTracks } from '../held-tracks.ts'

const JOB = 'job-2'

describe('a pass of a deploy group', () => {
  it('hands the unfinished items to their deployer in one batch, reads no older than what it knows', async () => {
    const { pass, inputs } = groupPass([started('a'), finished('b'), { ...started('c'), version: '12' }], succeed)
    expect(await deployGroup(pass)).toEqual(done)
    expect(inputs).toMatchObject([{ uids: ['uid-a', 'uid-c'], ownVersion: 12, jobID: JOB }])
    expect(pass.state.deployItems.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
      ['a', JOB],
      ['b', JOB],
      ['c', JOB],
    ])
  })

  it('has nothing to do when all are finished, have another job, or are of a type that somebody else serves', async () => {
    const others = [
      { ...started('b'), jobID: 'job-1' },
      { ...started('c'), type: 'example.com/theirs' },
    ]
    const { pass, inputs } = groupPass([finished('a'), ...others], succeed)
    expect(await deployGroup(pass)).toEqual(done)
    expect(inputs).toEqual([])
  })

  it('forgets items that are gone', async () => {
    const { pass } = groupPass([started('a'), started('b')], ({ uids }) => ({ items: [], gone: uids, failures: [] }))
    expect(await deployGroup(pass)).toEqual(done)
    expect(pass.state.deployItems).toEqual([])
  })

  it('comes again when the first of the waiting items times out', async () => {
    const waiting = [
      { ...started('a'), remainingMs: 7000 },
      { ...started('b'), remainingMs: 3000 },
      { ...started('c'), remainingMs: undefined },
    ]
    const { pass } = groupPass(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deployGroup(pass)).toEqual(again(3000))
  })

  it('looks again after a second at the soonest when a time-out has passed', async () => {
    const waiting = [{ ...started('a'), remainingMs: -7000 }]
    const { pass } = groupPass(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deployGroup(pass)).toEqual(again(1000))
  })

  it('tries failures again, each with the name of its item, and takes in what its siblings came to', async () => {
    const failures = [{ object: 'exec-b', code: 'Invalid', message: 'no' }]
    const { pass } = groupPass([started('a'), started('b')], () => ({ items: [finished('a')], gone: [], failures }))
    const { faults, againMs } = await deployGroup(pass)
    expect(againMs).toBe(5000)
    expect(faults).toEqual([{ code: 'Invalid', message: 'exec-b: no', retryable: true }])
    expect(pass.state.deployItems.map(({ jobIDFinished }) => jobIDFinished)).toEqual([JOB, 'job-1'])
  })
})

describe('items of deployers that take long', () => {
  const manifest = (item: string): DeployItemView => ({ ...started(item), type: manifestDeployer.type })

  it('are tried together once, after the batch of those that are quick', async () => {
    const { pass, inputs, tracks, calls } = groupPass([manifest('a'), started('b'), manifest('gone')], succeed)
    expect(await deployGroup(pass)).toEqual(done)
    expect(inputs).toMatchObject([{ uids: ['uid-b'] }])
    expect(calls).toEqual(['send a, gone'])
    expect(pass.state.deployItems.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
      ['a', JOB],
      ['b', JOB],
    ])
    expect(tracks.held.size).toBe(0)
  })

  it('go on, each on a track of its own, when they have not ended in that', async () => {
    const { pass, tracks, calls } = groupPass([manifest('late'), manifest('slow')], succeed)
    expect(await deployGroup(pass)).toEqual(done)
    expect([...tracks.held.keys()]).toEqual(['uid-late', 'uid-slow'])
    expect(tracks.retained).toEqual(new Set(['uid-late', 'uid-slow']))
    for (const work of tracks.held.values()) await work()
    expect(calls).toEqual(['send late, slow', 'apply late', 'await slow'])
    // They are on their tracks now.
    await deployGroup(pass)
    expect(calls).toHaveLength(3)
  })

  it('are let go when another hand has ended them', async () => {
    const { pass, tracks } = groupPass([{ ...manifest('a'), jobIDFinished: JOB }], succeed)
    expect(await deployGroup(pass)).toEqual(done)
    expect(tracks.held.size).toBe(0)
    expect(tracks.retained).toEqual(new Set())
  })

  it.each([
    ['is applied', manifest('a'), ['apply a']],
    ['is applied and waited for', manifest('slow'), ['apply slow', 'await slow']],
    ['is taken away', { ...manifest('a'), uninstalls: true }, ['uninstall a']],
  ])('each %s', async (_, item, expected) => {
    const { pass, calls } = groupPass([item, manifest('z')], succeed)
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
  const fresh = (item: string): DeployItemView => ({ ...started(item), jobID: 'job-1', phase: 'Succeeded' })
  const manifest = (item: string): DeployItemView => ({ ...fresh(item), type: manifestDeployer.type })

  it('are deployed before they have the job, and every call is told so', async () => {
    const { pass, inputs, hosted, tracks } = groupPass([fresh('a'), manifest('b'), manifest('late')], succeed)
    expect(await deployItems(pass, pass.state.deployItems, true)).toEqual(done)
    expect(inputs).toMatchObject([{ uids: ['uid-a'], isHosted: true }])
    for (const work of tracks.held.values()) await work()
    expect(hosted).toEqual(['send true', 'apply true'])
  })

  it('are those that are given; other tracks go on', async () => {
    const { pass, inputs, tracks } = groupPass([fresh('a'), fresh('b')], succeed)
    await deployItems(pass, [fresh('b')], true)
    expect(inputs).toMatchObject([{ uids: ['uid-b'] }])
    expect(tracks.retained).toBeUndefined()
  })

  it('have their job handed down in a group of their own', async () => {
    const { pass, inputs, hosted } = groupPass(
      [started('a'), { ...started('b'), type: manifestDeployer.type }],
      succeed,
    )
    await deployGroup(pass)
    expect(inputs).toMatchObject([{ isHosted: false }])
    expect(hosted).toEqual(['send false'])
  })
})

describe('an item that is deleted and has no execution', () => {
  const idle: DeployItemView = { ...started('a'), jobID: 'job-1', jobIDFinished: 'job-1', deleting: true }

  it('gets its job from its own group, once', async () => {
    const { pass, begun } = groupPass([idle], succeed, 'DeployItem')
    expect(await beginItem(pass)).toEqual(done)
    expect(await beginItem(pass)).toEqual(done)
    expect(begun).toEqual([JOB])
    expect(pass.state).toMatchObject({
      isOver: false,
      deployItems: [{ jobID: JOB, version: '9', phase: 'InitDelete' }],
    })
  })

  it.each([
    ['it is not deleted', { ...idle, deleting: false }, 'DeployItem'],
    ['another job of it runs', { ...idle, jobID: 'other' }, 'DeployItem'],
    ['the group is that of an execution', idle, 'Execution'],
  ])('gets none when %s', async (_, item, kind) => {
    const { pass, begun } = groupPass([item], succeed, kind)
    expect(await beginItem(pass)).toEqual(done)
    expect(begun).toEqual([])
  })

  it('is left alone when another run was first', async () => {
    const { pass } = groupPass([idle], succeed, 'DeployItem', false)
    expect(await beginItem(pass)).toEqual(done)
    expect(pass.state.deployItems).toEqual([idle])
  })
})

function started(item: string): DeployItemView {
  return {
    ...{
      uid: `uid-${item}`,
      version: '5',
      name: `exec-${item}`,
      item,
      type: mockDeployer.type,
      dependsOn: [],
      deleting: false,
    },
    ...{ finalizers: [FINALIZER], phase: 'Init', jobID: JOB, jobIDFinished: 'job-1', exportRef: undefined },
    ...{ remainingMs: undefined, uninstalls: false },
  }
}

function finished(item: string): DeployItemView {
  return { ...started(item), phase: 'Succeeded', jobIDFinished: JOB }
}

function succeed({ uids }: AnswerInput): AnswerResult {
  return { items: uids.map((uid) => finished(uid.replace('uid-', ''))), gone: [], failures: [] }
}

/** A pass over the items, what its deployer was asked, and the jobs it began. */

function groupPass(
  items: readonly DeployItemView[],
  deploy: (input: AnswerInput) => AnswerResult,
  kind = 'Execution',
  isFirst = true,
) {
  const inputs: AnswerInput[] = []
  const begun: string[] = []
  const calls: string[] = []
  const hosted: string[] = []
  const tracks = new HeldTracks<DeployGroupState>()
  const act: DeployGroupActivities = {
    observeDeployGroup: () => Promise.reject(new Error('was not expected')),
    deployMockItems(input) {
      inputs.push(input)
      return Promise.resolve(deploy(input))
    },
    beginJob({ jobID }) {
      begun.push(jobID)
      return Promise.resolve(isFirst ? BEGUN : undefined)
    },
    sendItems({ items: sent, isHosted }) {
      hosted.push(`send ${isHosted}`)
      const all = sent.map(({ uid }) => uid.replace('uid-', ''))
      calls.push(`send ${all.join(', ')}`)
      return Promise.resolve({ sent: all.flatMap(firstTry) })
    },
    forItem: (item) => itemCalls(item, calls, hosted),
  }
  const pass: DeployGroupPass = {
    subject: { kind, uid: 'uid-a', namespace: 'n', name: 'exec-a' },
    jobID: JOB,
    by: { workflowID: `deploy/uid-a/${JOB}`, runID: 'run', pass: 1 },
    act,
    state: { deployItems: items, isOver: false },
    tracks,
    wake: () => undefined,
  }
  return { pass, inputs, begun, tracks, calls, hosted }
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
      result: item === 'slow' ? { item: started(item), isWaiting: true } : { item: after, isWaiting: false },
    },
  ]
}

const BEGUN = {
  ...{ version: '9', generation: 1, deleting: true, finalizers: [FINALIZER], phase: 'InitDelete', jobID: JOB },
  ...{ jobIDFinished: 'job-1', observedGeneration: 1, lastError: undefined },
}
