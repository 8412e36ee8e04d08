// Tests the steps of an Execution before and after the triggering of its items.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { describe, expect, it } from 'vitest'
import { beginExecution, guardExecution } from '../../../../workflows/landscaper/execution/begin-execution.ts'
import { checkItems, collectExports } from '../../../../workflows/landscaper/execution/apply-deploy-items.ts'
import type { ExecutionActivities } from '../../../../workflows/landscaper/execution/pass.ts'
import { deleteDeployItems, releaseExecution } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { observeExecution } from '../../../../workflows/landscaper/execution/observe-execution.ts'
import { again, done, fail, GONE, FINALIZER_ADDED, stop, SUPERSEDED } from '../../../../workflows/kit/index.ts'
import { expectCpuBelow } from '../../../support/costs/cpu-limit.ts'
import { executionPass, JOB, leaving, pending, running, succeeded, THEIRS } from './execution-pass.ts'

const item = (name: string, dependsOn: readonly string[] = []) => ({ name, type: THEIRS, dependsOn })

describe('the items of a spec', () => {
  const checked = (items: readonly ReturnType<typeof item>[], problem?: string) =>
    checkItems(executionPass([], { target: { items, problem } }).pass)

  it('are accepted with unique names, known predecessors, and cycles', () => {
    expect(checked([item('a', ['b']), item('b', ['a'])])).toEqual(done)
    expect(checked([])).toEqual(done)
  })

  it('are rejected with every mistake, by name', () => {
    const outcome = checked([item('a', ['lost']), item('a'), item('')])
    expect(outcome).toEqual(
      fail(
        'InvalidDeployItems',
        'spec.deployItems[0].dependsOn: no item "lost"; expected names of a,  | ' +
          'spec.deployItems[1].name: found "a" twice; expected unique names | ' +
          'spec.deployItems[2].name: found nothing; expected a name',
      ),
    )
  })

  it('with thousands of mistakes are reported by the first ones, in linear time', () => {
    const lost = Array.from({ length: 20 }, (_, index) => `lost-${index}`)
    const items = Array.from({ length: 5000 }, (_, index) => item(`i${index}`, lost))
    // Takes minutes if each check searches all items.
    const [fault] = expectCpuBelow(10_000, () => checked(items)).faults
    expect(fault?.message).toMatch(/no item "lost-19"; expected names of i0, i1, .* \| and 99980 more$/)
    expect(fault?.message.length).toBeLessThan(5000)
  }, 300_000)

  it('are rejected if they cannot be decoded', () => {
    expect(checked([], 'no JSON')).toEqual(fail('ERR_CONFIGURATION_PROBLEM', 'no JSON'))
  })
})

describe('the deletion of an execution', () => {
  it('deletes the items that have no deletion timestamp', async () => {
    const { pass, called } = executionPass([pending('a'), leaving(pending('b'))])
    expect(await deleteDeployItems(pass)).toEqual(done)
    expect(called.deleted).toEqual(['a'])
    expect(pass.state.deployItems.map(({ deleting }) => deleting)).toEqual([true, true])
  })

  it('removes the finalizer once at the end', async () => {
    const guards: boolean[] = []
    const guardSubject: ExecutionActivities['guardSubject'] = ({ guarded }) => {
      guards.push(guarded)
      return Promise.resolve(undefined)
    }
    expect(await releaseExecution(executionPass([], { act: { guardSubject } }).pass)).toEqual(stop(GONE))
    const released = executionPass([], { target: { finalizers: ['theirs'] }, act: { guardSubject } })
    expect(await releaseExecution(released.pass)).toEqual(
      stop('waiting until other controllers remove their finalizers'),
    )
    expect(guards).toEqual([false])
  })

  it('runs another pass if the finalizer of another controller remains', async () => {
    const { pass } = executionPass([])
    const left = { ...pass.state.target, finalizers: ['theirs'] }
    const guardSubject = () => Promise.resolve(left)
    expect(await releaseExecution({ ...pass, act: { ...pass.act, guardSubject } })).toEqual(again(0))
  })
})

describe('the finalizer of an execution', () => {
  it('exists already, or is added', async () => {
    expect(await guardExecution(executionPass([]).pass)).toEqual(done)
    const { pass } = executionPass([], { target: { finalizers: [] } })
    const guardSubject = () => Promise.resolve({ ...pass.state.target, version: '11', finalizers: [FINALIZER] })
    const guarded = { ...pass, act: { ...pass.act, guardSubject } }
    expect(await guardExecution(guarded)).toEqual(done)
    expect(guarded.state.target).toMatchObject({ version: '11', finalizers: [FINALIZER] })
  })

  it('is not added to a deleted execution', async () => {
    const guardSubject = () => Promise.resolve(undefined)
    const { pass } = executionPass([], { target: { finalizers: [] }, act: { guardSubject } })
    expect(await guardExecution(pass)).toEqual(stop(GONE))
  })
})

describe('the exports of an execution', () => {
  it('are collected from the items that have exports', async () => {
    const exportRef = { name: 'secret' }
    const collected: unknown[] = []
    const collectExports_: ExecutionActivities['collectExports'] = ({ items }) => {
      collected.push(items)
      return Promise.resolve({ name: 'exports', namespace: 'n' })
    }
    const { pass } = executionPass([succeeded('a'), { ...succeeded('b'), exportRef }], {
      act: { collectExports: collectExports_ },
    })
    expect(await collectExports(pass)).toEqual(done)
    expect(collected).toEqual([[{ item: 'b', exportRef }]])
    expect(pass.draft.fields).toEqual({ exportRef: { name: 'exports', namespace: 'n' } })
  })

  it('create no object if no item has exports, and call no activity', async () => {
    const { pass } = executionPass([succeeded('a')])
    expect(await collectExports(pass)).toEqual(done)
    expect(pass.draft.fields).toEqual({ exportRef: null })
  })

  it('of an earlier job are removed with their reference', async () => {
    const collected: unknown[] = []
    const taken: ExecutionActivities['collectExports'] = ({ items }) => {
      collected.push(items)
      return Promise.resolve(null)
    }
    const given = { target: { hasExports: true }, act: { collectExports: taken } }
    const { pass } = executionPass([succeeded('a')], given)
    expect(await collectExports(pass)).toEqual(done)
    expect(collected).toEqual([[]])
    expect(pass.draft.fields).toEqual({ exportRef: null })
  })
})

describe('the job of an execution', () => {
  const idle = { jobID: 'job-1', jobIDFinished: 'job-1', phase: 'Succeeded' }

  it('belongs to its parent', async () => {
    expect(await beginExecution(executionPass([]).pass)).toEqual(done)
  })

  it('does not start while it is idle and not deleted, or has another job', async () => {
    expect(await beginExecution(executionPass([], { target: idle }).pass)).toEqual(stop(SUPERSEDED))
    const other = { jobID: 'other', deleting: true }
    expect(await beginExecution(executionPass([], { target: other }).pass)).toEqual(stop(SUPERSEDED))
  })

  it('does not start when the execution is first seen: it only gets the finalizer', async () => {
    const { pass } = executionPass([], { target: { ...idle, finalizers: ['theirs'] } })
    const asked: (readonly string[])[] = []
    const guardSubject: ExecutionActivities['guardSubject'] = ({ finalizers, guarded }) => {
      if (guarded) asked.push(finalizers)
      return Promise.resolve({ ...pass.state.target, version: '11' })
    }
    expect(await beginExecution({ ...pass, act: { ...pass.act, guardSubject } })).toEqual(stop(FINALIZER_ADDED))
    expect(asked).toEqual([['theirs']])
    const gone = { ...pass.act, guardSubject: () => Promise.resolve(undefined) }
    expect(await beginExecution({ ...pass, act: gone })).toEqual(stop(GONE))
  })

  it('gets its own ID if it is deleted and idle', async () => {
    const { pass } = executionPass([], { target: { ...idle, deleting: true } })
    const written = { jobID: JOB, phase: 'InitDelete', observedGeneration: 4, wrote: true }
    const begun = { ...pass.state.target, version: '11', ...written }
    const own = { ...pass, act: { ...pass.act, beginJob: () => Promise.resolve(begun) } }
    expect(await beginExecution(own)).toEqual(done)
    expect(own.state.target).toMatchObject({ version: '11', jobID: JOB })
    expect(own.draft).toMatchObject({ phase: 'InitDelete', observedGeneration: 4, lastError: undefined })

    const lost = { ...pass, state: { ...pass.state, target: { ...pass.state.target, ...idle } } }
    const act = { ...pass.act, beginJob: () => Promise.resolve(undefined) }
    expect(await beginExecution({ ...lost, act })).toEqual(stop(SUPERSEDED))
  })
})

describe('the observation of a pass', () => {
  const input = { subject: { kind: 'Execution', uid: 'u', namespace: 'n', name: 'exec' }, jobID: JOB, cause: '' }
  const by = { workflowID: 'w', runID: 'run', pass: 2 }

  it('applies the changes to the items that the run knows, sorted by name', async () => {
    const before = [pending('a'), pending('c'), pending('d')]
    const { pass } = executionPass(before)
    const newer = { ...running('c'), version: '9' }
    const asked: unknown[] = []
    const target = { ...pass.state.target, items: undefined }
    const observe: ExecutionActivities['observeExecution'] = ({ known, generation }) => {
      asked.push({ known, generation })
      return Promise.resolve({ target, changed: [pending('b'), newer], gone: ['uid-d'] })
    }
    const state = await observeExecution({ ...pass.act, observeExecution: observe }, input, by, () => pass.state)
    expect(asked).toEqual([{ known: { 'uid-a': '1', 'uid-c': '1', 'uid-d': '1' }, generation: target.generation }])
    expect(state?.deployItems).toEqual([pending('a'), pending('b'), newer])
    expect(state?.target).toEqual(pass.state.target)
  })

  it('is undefined if the execution is deleted', async () => {
    const { pass } = executionPass([])
    const observe = () => Promise.resolve({ target: undefined, changed: [], gone: [] })
    expect(
      await observeExecution({ ...pass.act, observeExecution: observe }, input, by, () => undefined),
    ).toBeUndefined()
  })
})
