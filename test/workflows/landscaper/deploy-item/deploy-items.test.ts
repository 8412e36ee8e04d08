// One pass of a deploy group, with fake activities.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { describe, expect, it } from 'vitest'

import { deployer as manifestDeployer } from '../../../../activities/landscaper/deploy/manifest/deployer.ts'
import { deployer as mockDeployer } from '../../../../activities/landscaper/deploy/mock/deployer.ts'
import type { AnswerInput, AnswerResult } from '../../../../activities/landscaper/deploy/run/answer-items.ts'
import type { SendResult } from '../../../../activities/landscaper/deploy/run/send-items.ts'
import type { GroupItem } from '../../../../activities/landscaper/deploy/run/views.ts'
import { beginItem } from '../../../../workflows/landscaper/deploy-item/begin-item.ts'
import type {
  DeployGroupActivities,
  DeployGroupPass,
  DeployGroupState,
  ItemActivities,
} from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { deployItems } from '../../../../workflows/landscaper/deploy-item/deploy-items.ts'
import { runItem } from '../../../../workflows/landscaper/deploy-item/run-item.ts'
import { again, type Change, done, type Tracks } from '../../../../workflows/kit/index.ts'

const JOB = 'job-2'

describe('a pass of a deploy group', () => {
  it('hands the unfinished items to their deployer in one batch, reads no older than what it knows', async () => {
    const { pass, inputs } = groupPass([started('a'), finished('b'), { ...started('c'), version: '12' }], succeed)
    expect(await deployItems(pass)).toEqual(done)
    expect(inputs).toMatchObject([{ uids: ['uid-a', 'uid-c'], ownVersion: 12, jobID: JOB }])
    expect(pass.state.items.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
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
    expect(await deployItems(pass)).toEqual(done)
    expect(inputs).toEqual([])
  })

  it('forgets items that are gone', async () => {
    const { pass } = groupPass([started('a'), started('b')], ({ uids }) => ({ items: [], gone: uids, failures: [] }))
    expect(await deployItems(pass)).toEqual(done)
    expect(pass.state.items).toEqual([])
  })

  it('comes again when the first of the waiting items times out', async () => {
    const waiting = [
      { ...started('a'), remainingMs: 7000 },
      { ...started('b'), remainingMs: 3000 },
      { ...started('c'), remainingMs: undefined },
    ]
    const { pass } = groupPass(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deployItems(pass)).toEqual(again(3000))
  })

  it('looks again after a second at the soonest when a time-out has passed', async () => {
    const waiting = [{ ...started('a'), remainingMs: -7000 }]
    const { pass } = groupPass(waiting, () => ({ items: waiting, gone: [], failures: [] }))
    expect(await deployItems(pass)).toEqual(again(1000))
  })

  it('tries failures again, each with the name of its item, and takes in what its siblings came to', async () => {
    const failures = [{ object: 'exec-b', code: 'Invalid', message: 'no' }]
    const { pass } = groupPass([started('a'), started('b')], () => ({ items: [finished('a')], gone: [], failures }))
    const { faults, againMs } = await deployItems(pass)
    expect(againMs).toBe(5000)
    expect(faults).toEqual([{ code: 'Invalid', message: 'exec-b: no', retryable: true }])
    expect(pass.state.items.map(({ jobIDFinished }) => jobIDFinished)).toEqual([JOB, 'job-1'])
  })
})

describe('items of deployers that take long', () => {
  const manifest = (item: string): GroupItem => ({ ...started(item), type: manifestDeployer.type })

  it('are tried together once, after the batch of those that are quick', async () => {
    const { pass, inputs, tracks, calls } = groupPass([manifest('a'), started('b'), manifest('gone')], succeed)
    expect(await deployItems(pass)).toEqual(done)
    expect(inputs).toMatchObject([{ uids: ['uid-b'] }])
    expect(calls).toEqual(['send a, gone'])
    expect(pass.state.items.map(({ item, jobIDFinished }) => [item, jobIDFinished])).toEqual([
      ['a', JOB],
      ['b', JOB],
    ])
    expect(tracks.held.size).toBe(0)
  })

  it('go on, each on a track of its own, when they have not ended in that', async () => {
    const { pass, tracks, calls } = groupPass([manifest('late'), manifest('slow')], succeed)
    expect(await deployItems(pass)).toEqual(done)
    expect([...tracks.held.keys()]).toEqual(['uid-late', 'uid-slow'])
    expect(tracks.retained).toEqual(new Set(['uid-late', 'uid-slow']))
    for (const work of tracks.held.values()) await work()
    expect(calls).toEqual(['send late, slow', 'apply late', 'await slow'])
    // They are on their tracks now.
    await deployItems(pass)
    expect(calls).toHaveLength(3)
  })

  it('are left where they are for a wake that came meanwhile', async () => {
    const { pass, wakes } = groupPass([manifest('woken')], succeed)
    await deployItems(pass)
    expect(wakes()).toBe(1)
  })

  it('are let go when another hand has ended them', async () => {
    const { pass, tracks } = groupPass([{ ...manifest('a'), jobIDFinished: JOB }], succeed)
    expect(await deployItems(pass)).toEqual(done)
    expect(tracks.held.size).toBe(0)
    expect(tracks.retained).toEqual(new Set())
  })

  it.each([
    ['is applied', manifest('a'), ['apply a']],
    ['is applied and waited for', manifest('slow'), ['apply slow', 'await slow']],
    ['is taken away', { ...manifest('a'), uninstalls: true }, ['uninstall a']],
  ])('each %s', async (_, item, expected) => {
    const { pass, calls } = groupPass([item, manifest('z')], succeed)
    const change = await runItem(pass, item, false)
    expect(calls).toEqual(expected)
    const after = change(pass.state).items.map(({ item: name, jobIDFinished }) => [name, jobIDFinished])
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

describe('an item that is deleted and has no execution', () => {
  const idle: GroupItem = { ...started('a'), jobID: 'job-1', jobIDFinished: 'job-1', deleting: true }

  it('gets its job from its own group, once', async () => {
    const { pass, begun } = groupPass([idle], succeed, 'DeployItem')
    expect(await beginItem(pass)).toEqual(done)
    expect(await beginItem(pass)).toEqual(done)
    expect(begun).toEqual([JOB])
    expect(pass.state).toMatchObject({ isOver: false, items: [{ jobID: JOB, version: '9', phase: 'InitDelete' }] })
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
    expect(pass.state.items).toEqual([idle])
  })
})

function started(item: string): GroupItem {
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

function finished(item: string): GroupItem {
  return { ...started(item), phase: 'Succeeded', jobIDFinished: JOB }
}

function succeed({ uids }: AnswerInput): AnswerResult {
  return { items: uids.map((uid) => finished(uid.replace('uid-', ''))), gone: [], failures: [] }
}

/** A pass over the items, what its deployer was asked, and the jobs it began. */

function groupPass(
  items: readonly GroupItem[],
  deploy: (input: AnswerInput) => AnswerResult,
  kind = 'Execution',
  isFirst = true,
) {
  const inputs: AnswerInput[] = []
  const begun: string[] = []
  const calls: string[] = []
  const tracks = new HeldTracks()
  let wakes = 0
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
    sendItems({ items: sent }) {
      const all = sent.map(({ uid }) => uid.replace('uid-', ''))
      calls.push(`send ${all.join(', ')}`)
      return Promise.resolve({ sent: all.flatMap(firstTry), woken: all.includes('woken') })
    },
    forItem: (item) => itemCalls(item, calls),
  }
  const pass: DeployGroupPass = {
    subject: { kind, uid: 'uid-a', namespace: 'n', name: 'exec-a' },
    jobID: JOB,
    by: { workflowID: `deploy/uid-a/${JOB}`, runID: 'run', pass: 1 },
    act,
    state: { items, isOver: false },
    tracks,
    wake: () => {
      wakes += 1
    },
  }
  return { pass, inputs, begun, tracks, calls, wakes: () => wakes }
}

/** Tracks that run when the test says so. */
class HeldTracks implements Tracks<DeployGroupState> {
  readonly held = new Map<string, () => Promise<Change<DeployGroupState>>>()
  retained: ReadonlySet<string> = new Set()

  has(key: string): boolean {
    return this.held.has(key)
  }

  start(key: string, work: () => Promise<Change<DeployGroupState>>): void {
    this.held.set(key, work)
  }

  retain(keys: ReadonlySet<string>): void {
    this.retained = keys
  }
}

/** Calls that are noted; the item `slow` is not ready at first, `gone` is not there. */
function itemCalls(item: string, calls: string[]): ItemActivities {
  const answer = (call: string) => () => {
    calls.push(`${call} ${item}`)
    const after =
      call === 'uninstall' || item === 'gone' ? undefined : { ...finished(item), type: manifestDeployer.type }
    return Promise.resolve({ item: after, isWaiting: call === 'apply' && item === 'slow' })
  }
  return { applyItem: answer('apply'), awaitItem: answer('await'), uninstallItem: answer('uninstall') }
}

/** What comes of the first try of an item: of `late` and `woken` nothing yet. */
function firstTry(item: string): SendResult['sent'] {
  if (item === 'late' || item === 'woken') return []
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
