// Items that the passes of an Execution end without a deployment: interrupted, not picked up in time, or skipped. On
// servers: test/e2e/one-item.test.ts. Source: spec/landscaper.md 2.10, 2.11.

import { describe, expect, it } from 'vitest'

import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { ExecutionView } from '../../../../activities/landscaper/execution/views.ts'
import { beginExecution } from '../../../../workflows/landscaper/execution/begin-execution.ts'
import { skipItems } from '../../../../workflows/landscaper/execution/end-items.ts'
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
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { fakeRuntime } from '../../kit/plan/fake-runtime.ts'
import {
  busy,
  executionPass,
  failed,
  leaving,
  pending,
  running,
  served,
  slow,
  succeeded,
  wrote,
} from './execution-pass.ts'

const phase = async (name: string, { pass }: ReturnType<typeof executionPass>): Promise<Outcome> =>
  await runStep(executionPlan.phases[name]!.step, pass, fakeRuntime())

const interrupted = { interruptRequested: true }
const unclaimed = (item: DeployItemView, pickupMs: number): DeployItemView => ({ ...item, pickupMs })

describe('an interrupted execution', () => {
  it('ends all unfinished items, triggers none, and fails', async () => {
    const given = executionPass([succeeded('a'), running('b'), pending('c')], { target: interrupted })
    expect(await phase('Progressing', given)).toEqual(fail('DeployItemsFailed', 'deploy items "b", "c" failed'))
    expect(given.called).toMatchObject({ interrupted: ['b', 'c'], triggered: [] })
    expect(given.pass.state.target).toMatchObject({ interruptRequested: false, version: '11' })
  })

  it('ends the remaining items of a deletion, and fails', async () => {
    const items = [pending('a'), running('b', ['a'])].map(leaving)
    const given = executionPass(items, { target: interrupted })
    expect(await phase('Deleting', given)).toEqual(fail('DeployItemsNotDeleted', 'Pawl could not uninstall a, b'))
    expect(given.called).toMatchObject({ interrupted: ['a', 'b'], triggered: [] })
  })

  it('ends the orphans that it waits for', async () => {
    const given = executionPass([leaving(running('old'))], { target: { ...interrupted, items: [] } })
    const outcome = await phase('Progressing', given)
    expect(outcome).toEqual(fail('OrphanedDeployItems', 'Pawl could not uninstall the orphaned deploy items old'))
  })

  it('continues to its end if no item is left to interrupt', async () => {
    const given = executionPass([succeeded('a')], { target: interrupted })
    expect(await phase('Progressing', given)).toEqual(done)
    expect(given.pass.state.target.interruptRequested).toBe(false)
  })

  it('retries writes that failed, also after a permanent rejection, and triggers nothing meanwhile', async () => {
    const failures = [{ object: 'exec-a', code: 'Invalid', message: 'no', retryable: false }]
    const interruptExecution = () => Promise.resolve({ ...wrote([]), failures, target: undefined })
    const given = executionPass([running('a'), pending('b')], { target: interrupted, act: { interruptExecution } })
    const faults = [{ code: 'Invalid', message: 'exec-a: no', retryable: true }]
    expect(await phase('Progressing', given)).toEqual({ ...done, faults })
    expect(given.called.triggered).toEqual([])
    expect(given.pass.state.target.interruptRequested).toBe(true)
  })

  it('runs another pass if it is deleted or has another job', async () => {
    const interruptExecution = () => Promise.resolve({ ...wrote([]), target: undefined })
    const given = executionPass([running('a')], { target: interrupted, act: { interruptExecution } })
    expect(await phase('Progressing', given)).toEqual(again(0))
  })
})

describe('an interrupt annotation that exists when a job starts', () => {
  const begun = (target: Partial<ExecutionView>) => executionPass([], { target: { ...interrupted, ...target } })

  it('is removed, because it belongs to the previous job', async () => {
    const { pass, called } = begun({ isUnbegun: true, hasParent: false })
    expect(await beginExecution(pass)).toEqual(done)
    expect(called.forgotten).toBe(1)
    expect(pass.state.target.interruptRequested).toBe(false)
  })

  it('belongs to this job below a parent, which removes old ones, and after the job has started', async () => {
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

  it('belongs to this job if an item has the job, because a lost pass started it', async () => {
    const target = { ...interrupted, isUnbegun: true, hasParent: false }
    const { pass, called } = executionPass([running('a')], { target })
    expect(await beginExecution(pass)).toEqual(done)
    expect(called.forgotten).toBe(0)
  })

  it('ends the run if the execution has another job meanwhile', async () => {
    const act = { forgetInterrupt: () => Promise.resolve(undefined) }
    const target = { ...interrupted, isUnbegun: true, hasParent: false }
    expect(await beginExecution(executionPass([], { target, act }).pass)).toEqual(stop(SUPERSEDED))
  })
})

describe('a job that has not started', () => {
  it('starts without an error, although a user has written a later phase', async () => {
    const { pass } = executionPass([], { target: { phase: 'Completing', isUnbegun: true } })
    expect(await beginExecution(pass)).toEqual(done)
    expect(pass.draft.phase).toBeUndefined()
  })
})

describe('an item that no deployer picks up', () => {
  it('makes the execution schedule a pass for the first pickup timeout', async () => {
    const items = [unclaimed(running('a'), 3000), unclaimed(running('b'), 2000), running('c')]
    const waiting = joinOutcomes(stop('waiting for a, b, c'), again(2000))
    expect(await phase('Progressing', executionPass(items))).toEqual(waiting)
    const deleting = joinOutcomes(stop('waiting until these deploy items are uninstalled: a, b, c'), again(2000))
    expect(await phase('Deleting', executionPass(items.map(leaving)))).toEqual(deleting)
  })

  it('ends after its timeout, and running siblings finish', async () => {
    const given = executionPass([unclaimed(running('a'), 0), unclaimed(running('b'), 500), pending('c')])
    const reason = 'a deploy item failed; waiting for the running items: b'
    expect(await phase('Progressing', given)).toEqual(joinOutcomes(stop(reason), again(500)))
    expect(given.called).toMatchObject({ unclaimed: ['a'], triggered: [] })
  })

  it('fails a deletion, and the clean-up of orphans', async () => {
    const items = [unclaimed(leaving(running('a')), -1)]
    expect(await phase('Deleting', executionPass(items))).toEqual(
      fail('DeployItemsNotDeleted', 'Pawl could not uninstall a'),
    )
    expect(await phase('Progressing', executionPass(items, { target: { items: [] } }))).toEqual(
      fail('OrphanedDeployItems', 'Pawl could not uninstall the orphaned deploy items a'),
    )
  })

  it('is waited for if a deployer picked it up just before its end', async () => {
    const endUnclaimedItems = () => Promise.resolve(wrote([running('a')]))
    const given = executionPass([unclaimed(running('a'), -5)], { act: { endUnclaimedItems } })
    expect(await phase('Progressing', given)).toEqual(stop('waiting for a'))
  })

  it('causes no endless passes while its end cannot be written', async () => {
    const endUnclaimedItems = () => Promise.resolve(wrote([]))
    const given = executionPass([unclaimed(running('a'), -5)], { act: { endUnclaimedItems } })
    expect(await phase('Progressing', given)).toEqual(joinOutcomes(stop('waiting for a'), again(100)))
  })

  it('is ignored if it has another job, or a job that has ended', async () => {
    const given = executionPass([unclaimed(succeeded('a'), -5), unclaimed(pending('b'), -5)])
    await phase('Progressing', given)
    expect(given.called).toMatchObject({ unclaimed: [], triggered: ['b'] })
  })
})

describe('an execution whose items are edited during the job', () => {
  const broken = { items: [], problem: 'no JSON' }

  it('fails with the mistakes after its running items, and creates no orphans', async () => {
    const first = executionPass([running('a'), pending('b')], { target: broken })
    const reason = 'an edit made the items invalid; waiting for the running items: a'
    expect(await phase('Progressing', first)).toEqual(stop(reason))
    const then = executionPass([succeeded('a'), pending('b')], { target: broken })
    expect(await phase('Progressing', then)).toEqual(fail('ERR_CONFIGURATION_PROBLEM', 'no JSON'))
    for (const { called } of [first, then]) expect(called).toMatchObject({ deleted: [], triggered: [] })
  })

  it('continues with its own running items meanwhile', async () => {
    const quick = executionPass([served(running('a')), pending('b')], { target: broken })
    expect(await phase('Progressing', quick)).toEqual(fail('ERR_CONFIGURATION_PROBLEM', 'no JSON'))
    const long = executionPass([slow(running('a')), pending('b')], { target: broken })
    expect((await phase('Progressing', long)).stopped).toMatch(/waiting for the running items: a$/)
    expect([quick.called.deployed, long.called.sent]).toEqual([['hosted: a'], ['hosted: a']])
  })

  it('waits for an item whose background activity has not made its first write', async () => {
    const given = executionPass([slow(pending('a'))], { target: broken })
    given.tracks.start('uid-a', () => Promise.reject(new Error('was not expected')))
    const reason = 'an edit made the items invalid; waiting for the running items: a'
    expect(await phase('Progressing', given)).toEqual(stop(reason))
  })
})

const skipped = { isSkipped: true } as const

describe('a skipped item', () => {
  it.each([
    ['waits', pending('a')],
    ['runs', running('a')],
    ['has failed', failed('a')],
  ])('ends where it %s, and what is behind it begins', async (_, item) => {
    const { pass, called } = executionPass([{ ...item, ...skipped }, pending('b', ['a'])])
    expect(await skipItems(pass)).toEqual(done)
    expect(called.skipped).toEqual(['a'])
    await triggerDeployItems(pass)
    expect(called.triggered).toEqual(['b'])
  })

  it('gets no further work', async () => {
    const { pass, tracks } = executionPass([{ ...slow(running('a')), ...skipped }])
    await skipItems(pass)
    expect(tracks.retained).toEqual(new Set())
  })

  it.each([
    ['ended', succeeded('a')],
    ['runs another job', busy(pending('a'))],
    ['is being deleted', leaving(pending('a'))],
  ])('stays as it is where it %s', async (_, item) => {
    const { pass, called } = executionPass([{ ...item, ...skipped }])
    expect(await skipItems(pass)).toEqual(done)
    expect(called.skipped).toEqual([])
  })

  it('that the spec does not name is uninstalled like any other', async () => {
    const { pass, called } = executionPass([{ ...pending('a'), ...skipped }], { target: { items: [] } })
    await skipItems(pass)
    expect(called.skipped).toEqual([])
  })
})
