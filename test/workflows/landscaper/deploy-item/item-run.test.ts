// Tests the passes of a DeployItem's own run, which no Execution hosts, with fake activities.

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
  it('is deployed after it has got the finalizer', async () => {
    const { outcome, pass, log } = await run({ ...itemView('a'), finalizers: ['theirs'] })
    expect(outcome).toEqual(done)
    expect(log).toEqual([`guard on 5, beside theirs`, 'deploy'])
    expect(shownItem(pass.state)).toMatchObject({ phase: 'Succeeded', jobIDFinished: JOB })
  })

  it('is deployed at once if it has the finalizer, or is being deleted', async () => {
    expect((await run(itemView('a'))).log).toEqual(['deploy'])
    expect((await run({ ...itemView('a'), finalizers: [], deleting: true })).log).toEqual(['deploy'])
  })

  it('counts as deleted if adding the finalizer finds no object', async () => {
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

  it('with the finalizer has lost its job to another controller', async () => {
    const { outcome, log } = await run(idle)
    expect(outcome).toEqual(stop(SUPERSEDED))
    expect(log).toEqual([])
  })

  it('gets a job if it is deleted, and is uninstalled in it', async () => {
    const { outcome, pass, log } = await run({ ...idle, deleting: true })
    expect(outcome).toEqual(done)
    expect(log).toEqual([`begin on 5 after job-1`, 'deploy'])
    expect(pass.state.target).toMatchObject({ version: '9', jobID: JOB, phase: 'InitDelete' })
  })

  it('is left to another run that claimed it first', async () => {
    const { outcome, log } = await run({ ...idle, deleting: true }, { isGone: true })
    expect(outcome).toEqual(stop(SUPERSEDED))
    expect(log).toHaveLength(1)
  })

  it('is left to the deployer of its type once it has a job', async () => {
    const begun = await run({ ...idle, deleting: true, type: THEIRS })
    expect(begun.outcome).toEqual(stop(HANDED_DOWN))
    expect(begun.log).toEqual([`begin on 5 after job-1`])
    const again = await run({ ...itemView('a'), deleting: true, type: THEIRS })
    expect(again.outcome).toEqual(stop(HANDED_DOWN))
    expect(again.log).toEqual([])
  })
})

describe('an item with a retry request', () => {
  const asking = { ...itemView('a'), jobID: 'job-1', retry: { generation: 3 } }

  it('gets a job, and the request is removed after the job has started', async () => {
    const { outcome, log } = await run(asking)
    expect(outcome).toEqual(done)
    expect(log).toEqual(['begin on 5 after job-1', 'take the request off 9', 'deploy'])
  })

  it('gets no second job if its run was lost in between', async () => {
    const { log } = await run({ ...asking, jobID: JOB })
    expect(log).toEqual(['take the request off 5', 'deploy'])
  })

  it('is left to the deployer of its type', async () => {
    const { outcome, log } = await run({ ...asking, type: THEIRS })
    expect(outcome).toEqual(stop(HANDED_DOWN))
    expect(log).toEqual(['begin on 5 after job-1', 'take the request off 9'])
  })

  it('waits for the end of the job of its execution', () => {
    const annotations = { 'landscaper.gardener.cloud/operation': 'retry' }
    const object = { metadata: { annotations, finalizers: [FINALIZER] } }
    expect(deployItemRun(object, false)).toEqual({ jobID: undefined, cause: 'retry annotation' })
    expect(deployItemRun(object, false, 'job-9')).toHaveProperty('none')
    const deleting = { metadata: { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    expect(deployItemRun(deleting, false)).toHaveProperty('none')
  })
})

describe('the status of an item', () => {
  it('has the error and the reason of a failed job', () => {
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
