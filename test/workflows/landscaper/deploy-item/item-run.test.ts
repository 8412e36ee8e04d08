// Passes of the run of an item that nobody hosts, with fake activities.

import { describe, expect, it } from 'vitest'

import type { FinalizeInput } from '../../../../activities/run/finalize.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { type ItemPass, itemState, shownItem } from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { deployItemRun } from '../../../../workflows/landscaper/deploy-item/routes.ts'
import { deployPlan } from '../../../../workflows/landscaper/deploy-item/plan.ts'
import {
  done,
  FINALIZER_ADDED,
  HANDED_DOWN,
  type Outcome,
  runStep,
  stop,
  SUPERSEDED,
  type TargetView,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from '../../kit/plan/fake-runtime.ts'
import { HeldTracks } from '../held-tracks.ts'
import { itemView, JOB } from './item-view.ts'

const THEIRS = 'example.com/theirs'

describe('an item that has the job', () => {
  it('is deployed, after it has got the finalizer', async () => {
    const { outcome, pass, log } = await run({ ...itemView('a'), finalizers: ['theirs'] })
    expect(outcome).toEqual(done)
    expect(log).toEqual([`guard on 5, beside theirs`, 'deploy'])
    expect(shownItem(pass.state)).toMatchObject({ phase: 'Succeeded', jobIDFinished: JOB })
  })

  it('is deployed at once where it has the finalizer, or can get none any more', async () => {
    expect((await run(itemView('a'))).log).toEqual(['deploy'])
    expect((await run({ ...itemView('a'), finalizers: [], deleting: true })).log).toEqual(['deploy'])
  })

  it('is gone when that is found where the finalizer is put on', async () => {
    const { pass, log } = await run({ ...itemView('a'), finalizers: [] }, { isGone: true })
    expect(log).toHaveLength(1)
    expect(shownItem(pass.state)).toBeUndefined()
  })
})

describe('an item without job', () => {
  const idle: DeployItemView = { ...itemView('a'), jobID: 'job-1' }

  it('gets the finalizer when it is seen, and nothing more', async () => {
    const { outcome, log } = await run({ ...idle, jobID: undefined, jobIDFinished: undefined, finalizers: [] })
    expect(outcome).toEqual(stop(FINALIZER_ADDED))
    expect(log).toEqual(['guard on 5, beside nothing'])
  })

  it('has lost its job to another hand where it has the finalizer', async () => {
    const { outcome, log } = await run(idle)
    expect(outcome).toEqual(stop(SUPERSEDED))
    expect(log).toEqual([])
  })

  it('gets one when it is deleted, and is taken away in it', async () => {
    const { outcome, pass, log } = await run({ ...idle, deleting: true })
    expect(outcome).toEqual(done)
    expect(log).toEqual([`begin on 5 after job-1`, 'deploy'])
    expect(pass.state.target).toMatchObject({ version: '9', jobID: JOB, phase: 'InitDelete' })
  })

  it('is left to another run that was first', async () => {
    const { outcome, log } = await run({ ...idle, deleting: true }, { isGone: true })
    expect(outcome).toEqual(stop(SUPERSEDED))
    expect(log).toHaveLength(1)
  })

  it('is left to who serves its type once it has one', async () => {
    const begun = await run({ ...idle, deleting: true, type: THEIRS })
    expect(begun.outcome).toEqual(stop(HANDED_DOWN))
    expect(begun.log).toEqual([`begin on 5 after job-1`])
    const again = await run({ ...itemView('a'), deleting: true, type: THEIRS })
    expect(again.outcome).toEqual(stop(HANDED_DOWN))
    expect(again.log).toEqual([])
  })
})

describe('an item of which a job of its own is asked for', () => {
  const asking = { ...itemView('a'), jobID: 'job-1', retry: { generation: 3 } }

  it('has one, and the request is taken off once that has begun', async () => {
    const { outcome, log } = await run(asking)
    expect(outcome).toEqual(done)
    expect(log).toEqual(['begin on 5 after job-1', 'take the request off 9', 'deploy'])
  })

  it('has no second one when its run was lost in between', async () => {
    const { log } = await run({ ...asking, jobID: JOB })
    expect(log).toEqual(['take the request off 5', 'deploy'])
  })

  it('is left to who serves its type', async () => {
    const { outcome, log } = await run({ ...asking, type: THEIRS })
    expect(outcome).toEqual(stop(HANDED_DOWN))
    expect(log).toEqual(['begin on 5 after job-1', 'take the request off 9'])
  })

  it('waits for the end of the job that its execution has', () => {
    const annotations = { 'landscaper.gardener.cloud/operation': 'retry' }
    const object = { metadata: { annotations, finalizers: [FINALIZER] } }
    expect(deployItemRun(object, false)).toEqual({ jobID: undefined, cause: 'retry annotation' })
    expect(deployItemRun(object, false, 'job-9')).toHaveProperty('none')
    const deleting = { metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    expect(deployItemRun(deleting, false)).toHaveProperty('none')
  })
})

describe('what an item says of its job', () => {
  it('has the error of its end, with the reason', () => {
    const failed = { ...itemView('a'), phase: 'Failed', error: 'no target', reason: 'NoTargetFound' }
    expect(shownItem(itemState(failed))).toEqual({
      jobID: JOB,
      jobIDFinished: 'job-1',
      phase: 'Failed',
      lastError: { reason: 'NoTargetFound', message: 'no target' },
    })
    expect(shownItem(itemState(itemView('a')))?.lastError).toBeUndefined()
  })
})

async function run(item: DeployItemView, { isGone = false } = {}) {
  const log: string[] = []
  const answer = (after: Partial<TargetView>) =>
    Promise.resolve(isGone ? undefined : { ...TARGET, ...after, wrote: true })
  const unexpected = () => Promise.reject(new Error('was not expected'))
  const pass: ItemPass = {
    subject: { kind: 'DeployItem', uid: item.uid, namespace: 'n', name: item.name },
    jobID: JOB,
    by: { workflowID: `deploy/n/${item.name}/${item.uid}/${JOB}`, runID: 'run', pass: 1 },
    act: {
      observeDeployItem: unexpected,
      sendItems: unexpected,
      forItem: () => ({ applyItem: unexpected, awaitItem: unexpected, uninstallItem: unexpected }),
      forgetRetry({ version }) {
        log.push(`take the request off ${version}`)
        const left = { ...pass.state.target, version: '10' }
        Reflect.deleteProperty(left, 'retry')
        return Promise.resolve(left)
      },
      guardSubject({ version, finalizers }: FinalizeInput) {
        log.push(`guard on ${version}, beside ${finalizers.join() || 'nothing'}`)
        return answer({ finalizers: [...finalizers, FINALIZER] })
      },
      beginJob({ target: { version, jobID } }) {
        log.push(`begin on ${version} after ${jobID}`)
        return answer({ phase: 'InitDelete' })
      },
      deployMockItems() {
        log.push('deploy')
        const items = [{ ...pass.state.target, phase: 'Succeeded', jobIDFinished: JOB }]
        return Promise.resolve({ items, gone: [], failures: [] })
      },
    },
    state: itemState(item),
    background: new HeldTracks(),
  }
  const outcome: Outcome = await runStep(deployPlan, pass, fakeRuntime())
  return { outcome, pass, log }
}

const TARGET: TargetView = {
  version: '9',
  generation: 1,
  deleting: false,
  finalizers: [],
  phase: undefined,
  jobID: JOB,
  jobIDFinished: 'job-1',
  observedGeneration: 0,
  lastError: undefined,
}
