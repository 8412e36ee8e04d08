// Interrupts and pickup timeouts in the passes of an Execution. Source: spec/landscaper.md 2.10, 2.11.

import { describe, expect, it } from 'vitest'

import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { ExecutionView } from '../../../../activities/landscaper/execution/views.ts'
import { beginExecution } from '../../../../workflows/landscaper/execution/begin-execution.ts'
import { executionPlan } from '../../../../workflows/landscaper/execution/plan.ts'
import {
  again,
  done,
  fail,
  joinOutcomes,
  type Outcome,
  runStep,
  stop,
  SUPERSEDED,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from '../../kit/plan/fake-runtime.ts'
import { executionPass, leaving, pending, running, served, slow, succeeded, wrote } from './execution-pass.ts'

const phase = async (name: string, { pass }: ReturnType<typeof executionPass>): Promise<Outcome> =>
  await runStep(executionPlan.phases[name]!.step, pass, fakeRuntime())

const interrupted = { interruptRequested: true }
const unclaimed = (item: DeployItemView, pickupMs: number): DeployItemView => ({ ...item, pickupMs })

describe('an interrupted execution', () => {
  it('ends all items that have not finished, triggers none, and fails', async () => {
    const given = executionPass([succeeded('a'), running('b'), pending('c')], { target: interrupted })
    expect(await phase('Progressing', given)).toEqual(
      fail('DeployItemsFailed', 'has failed or missing deploy items: b, c'),
    )
    expect(given.called).toMatchObject({ interrupted: ['b', 'c'], triggered: [] })
    expect(given.pass.state.target).toMatchObject({ interruptRequested: false, version: '11' })
  })

  it('ends in a deletion what is left, and fails', async () => {
    const items = [pending('a'), running('b', ['a'])].map(leaving)
    const given = executionPass(items, { target: interrupted })
    expect(await phase('Deleting', given)).toEqual(
      fail('DeployItemsNotDeleted', 'deploy items could not be uninstalled: a, b'),
    )
    expect(given.called).toMatchObject({ interrupted: ['a', 'b'], triggered: [] })
  })

  it('ends the orphans that it waits for', async () => {
    const given = executionPass([leaving(running('old'))], { target: { ...interrupted, items: [] } })
    const outcome = await phase('Progressing', given)
    expect(outcome).toEqual(fail('OrphanedDeployItems', 'orphaned deploy items could not be uninstalled: old'))
  })

  it('goes on to its end when there is nothing left to interrupt', async () => {
    const given = executionPass([succeeded('a')], { target: interrupted })
    expect(await phase('Progressing', given)).toEqual(done)
    expect(given.pass.state.target.interruptRequested).toBe(false)
  })

  it('tries again what it could not write, even when it was refused for good, and triggers nothing meanwhile', async () => {
    const failures = [{ object: 'exec-a', code: 'Invalid', message: 'no', retryable: false }]
    const interruptExecution = () => Promise.resolve({ ...wrote([]), failures, target: undefined })
    const given = executionPass([running('a'), pending('b')], { target: interrupted, act: { interruptExecution } })
    const faults = [{ code: 'Invalid', message: 'exec-a: no', retryable: true }]
    expect(await phase('Progressing', given)).toEqual({ ...done, faults })
    expect(given.called.triggered).toEqual([])
    expect(given.pass.state.target.interruptRequested).toBe(true)
  })

  it('looks again when it is gone or has another job', async () => {
    const interruptExecution = () => Promise.resolve({ ...wrote([]), target: undefined })
    const given = executionPass([running('a')], { target: interrupted, act: { interruptExecution } })
    expect(await phase('Progressing', given)).toEqual(again(0))
  })
})

describe('an interrupt that is there when a job begins', () => {
  const begun = (target: Partial<ExecutionView>) => executionPass([], { target: { ...interrupted, ...target } })

  it('is taken off, because it was meant for the job before', async () => {
    const { pass, called } = begun({ isUnbegun: true, hasParent: false })
    expect(await beginExecution(pass)).toEqual(done)
    expect(called.forgotten).toBe(1)
    expect(pass.state.target.interruptRequested).toBe(false)
  })

  it('is for this job below a parent, which takes old ones off, and once the job has begun', async () => {
    for (const target of [
      { isUnbegun: true, hasParent: true },
      { isUnbegun: false, hasParent: false },
    ]) {
      const { pass, called } = begun(target)
      expect(await beginExecution(pass)).toEqual(done)
      expect(called.forgotten).toBe(0)
      expect(pass.state.target.interruptRequested).toBe(true)
    }
  })

  it('is for this job where an item has it: the pass that began it was lost', async () => {
    const target = { ...interrupted, isUnbegun: true, hasParent: false }
    const { pass, called } = executionPass([running('a')], { target })
    expect(await beginExecution(pass)).toEqual(done)
    expect(called.forgotten).toBe(0)
  })

  it('ends the run when another job came meanwhile', async () => {
    const act = { forgetInterrupt: () => Promise.resolve(undefined) }
    const target = { ...interrupted, isUnbegun: true, hasParent: false }
    expect(await beginExecution(executionPass([], { target, act }).pass)).toEqual(stop(SUPERSEDED))
  })
})

describe('a job that nobody has worked on', () => {
  it('begins with its first phase, whatever phase a hand has left', async () => {
    const { pass } = executionPass([], { target: { phase: 'Completing', isUnbegun: true } })
    expect(await beginExecution(pass)).toEqual(done)
    expect(pass.draft.phase).toBeUndefined()
  })
})

describe('an item that no deployer takes up', () => {
  it('has the execution look again when the first of them is overdue', async () => {
    const items = [unclaimed(running('a'), 3000), unclaimed(running('b'), 2000), running('c')]
    const waiting = joinOutcomes(stop('waiting for a, b, c'), again(2000))
    expect(await phase('Progressing', executionPass(items))).toEqual(waiting)
    const deleting = joinOutcomes(stop('waiting for a, b, c to be uninstalled'), again(2000))
    expect(await phase('Deleting', executionPass(items.map(leaving)))).toEqual(deleting)
  })

  it('is ended when it is overdue; running siblings are let finish', async () => {
    const given = executionPass([unclaimed(running('a'), 0), unclaimed(running('b'), 500), pending('c')])
    const reason = 'a deploy item failed; waiting for the running ones: b'
    expect(await phase('Progressing', given)).toEqual(joinOutcomes(stop(reason), again(500)))
    expect(given.called).toMatchObject({ unclaimed: ['a'], triggered: [] })
  })

  it('fails a deletion, and the clean-up of orphans', async () => {
    const items = [unclaimed(leaving(running('a')), -1)]
    expect(await phase('Deleting', executionPass(items))).toEqual(
      fail('DeployItemsNotDeleted', 'deploy items could not be uninstalled: a'),
    )
    expect(await phase('Progressing', executionPass(items, { target: { items: [] } }))).toEqual(
      fail('OrphanedDeployItems', 'orphaned deploy items could not be uninstalled: a'),
    )
  })

  it('is waited for when a deployer took it up just before it was ended', async () => {
    const endUnclaimedItems = () => Promise.resolve(wrote([running('a')]))
    const given = executionPass([unclaimed(running('a'), -5)], { act: { endUnclaimedItems } })
    expect(await phase('Progressing', given)).toEqual(stop('waiting for a'))
  })

  it('leads to no passes without end while it cannot be ended', async () => {
    const endUnclaimedItems = () => Promise.resolve(wrote([]))
    const given = executionPass([unclaimed(running('a'), -5)], { act: { endUnclaimedItems } })
    expect(await phase('Progressing', given)).toEqual(joinOutcomes(stop('waiting for a'), again(100)))
  })

  it('of another job, or of one that has ended, is none of ours', async () => {
    const given = executionPass([unclaimed(succeeded('a'), -5), unclaimed(pending('b'), -5)])
    await phase('Progressing', given)
    expect(given.called).toMatchObject({ unclaimed: [], triggered: ['b'] })
  })
})

describe('an execution whose items are edited during the job', () => {
  const broken = { items: [], problem: 'no JSON' }

  it('fails with what is wrong when they cannot work, after the running ones, and makes no orphans', async () => {
    const first = executionPass([running('a'), pending('b')], { target: broken })
    const reason = 'the items were edited and cannot work; waiting for the running ones: a'
    expect(await phase('Progressing', first)).toEqual(stop(reason))
    const then = executionPass([succeeded('a'), pending('b')], { target: broken })
    expect(await phase('Progressing', then)).toEqual(fail('ERR_CONFIGURATION_PROBLEM', 'no JSON'))
    for (const { called } of [first, then]) expect(called).toMatchObject({ deleted: [], triggered: [] })
  })

  it('goes on meanwhile with the running ones of its own', async () => {
    const quick = executionPass([served(running('a')), pending('b')], { target: broken })
    expect(await phase('Progressing', quick)).toEqual(fail('ERR_CONFIGURATION_PROBLEM', 'no JSON'))
    const long = executionPass([slow(running('a')), pending('b')], { target: broken })
    expect((await phase('Progressing', long)).stopped).toMatch(/waiting for the running ones: a$/)
    expect([quick.called.deployed, long.called.sent]).toEqual([['hosted: a'], ['hosted: a']])
  })

  it('lets finish what is on its track and has not come to a write', async () => {
    const given = executionPass([slow(pending('a'))], { target: broken })
    given.tracks.start('uid-a', () => Promise.reject(new Error('was not expected')))
    const reason = 'the items were edited and cannot work; waiting for the running ones: a'
    expect(await phase('Progressing', given)).toEqual(stop(reason))
  })
})
