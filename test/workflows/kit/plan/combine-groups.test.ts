// Sequences and groups: the steps that run, their order, and the joined outcome.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  done,
  fail,
  interrupts,
  join,
  joinOrdered,
  joinOutcomes,
  later,
  type Outcome,
  parallelJoin,
  sequential,
  stop,
} from '../../../../workflows/kit/index.ts'
import { leaf, leavesOf, outcomes, type Pass, runAll } from './noting-steps.ts'

describe('a sequence', () => {
  it('ends with the first outcome that interrupts, and joins all outcomes so far', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(outcomes), async (all) => {
        const { outcome, ran } = await runAll(sequential(...leavesOf(all)))
        const first = all.findIndex(interrupts)
        const made = first === -1 ? all.length : first + 1
        expect(outcome).toEqual(joinOutcomes(...all.slice(0, made)))
        expect(ran).toHaveLength(made)
      }),
    )
  })

  it('has the same outcome for any nesting', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(outcomes), fc.array(outcomes), async (left, right) => {
        const [inner, flat] = [
          await runAll(sequential(sequential(...leavesOf(left)), sequential(...leavesOf(right)))),
          await runAll(sequential(...leavesOf([...left, ...right]))),
        ]
        expect(inner.outcome).toEqual(flat.outcome)
        expect(inner.ran).toHaveLength(flat.ran.length)
      }),
    )
  })

  it('continues after `later` and keeps the request', async () => {
    const { outcome, ran } = await runAll(
      sequential(leaf('first', later(500)), leaf('second'), leaf('third', stop('x'))),
    )
    expect(ran).toEqual(['first', 'second', 'third'])
    expect(outcome).toEqual({ ...stop('x'), laterMs: 500 })
  })
})

describe.each([
  ['join', join],
  ['joinOrdered', joinOrdered],
  ['parallelJoin', parallelJoin],
])('%s', (_name, group) => {
  it('runs every step in declared order and joins the outcomes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(outcomes), async (all) => {
        const { outcome, ran } = await runAll(group(...leavesOf(all)))
        expect(outcome).toEqual(joinOutcomes(...all))
        expect(ran).toEqual(all.map((_, index) => `step ${index}`))
      }),
    )
  })
})

describe('join', () => {
  it('has the same outcome in any order, except for the order of faults and the reason of the stop', async () => {
    const permuted = fc.array(outcomes).chain((all) => {
      const shuffled = fc.shuffledSubarray(all, { minLength: all.length })
      return fc.tuple(fc.constant(all), shuffled)
    })
    await fc.assert(
      fc.asyncProperty(permuted, async ([all, shuffled]) => {
        const [one, other] = [await runAll(join(...leavesOf(all))), await runAll(join(...leavesOf(shuffled)))]
        expect(other.outcome.againMs).toBe(one.outcome.againMs)
        expect(other.outcome.laterMs).toBe(one.outcome.laterMs)
        expect(other.outcome.stopped === undefined).toBe(one.outcome.stopped === undefined)
        expect(sorted(other.outcome.faults)).toEqual(sorted(one.outcome.faults))
      }),
    )
  })

  it('keeps the given order in every pass and in the drawing', async () => {
    const steps = Object.freeze(leavesOf(Array.from({ length: 20 }, () => done)))
    const plan = join(...steps)
    const [first, second] = [await runAll(plan), await runAll(plan)]
    expect(plan.children).toEqual(steps)
    expect(second.ran).toEqual(first.ran)
    expect(first.ran).toEqual(steps.map(({ name }) => name))
  })

  it('runs all its steps, also after a step that requests a pass, stops or fails', async () => {
    const { outcome, ran } = await runAll(
      sequential(
        join(
          sequential(leaf('stop', stop('enough')), leaf('behind stop')),
          leaf('now', again(0)),
          leaf('fail', fail('Final', 'x')),
          leaf('last', again(5)),
        ),
        leaf('behind join'),
      ),
    )
    expect(ran).toEqual(['stop', 'now', 'fail', 'last'])
    expect(outcome).toEqual({ ...fail('Final', 'x'), againMs: 0, stopped: 'enough' })
  })
})

describe('a step', () => {
  it('gets the state that an earlier step of the pass has changed', async () => {
    const reading = action<Pass>('read', ({ ready }) => stop(String(ready)))
    const writing = action<Pass>('write', (pass) => {
      pass.ready = true
      return done
    })
    expect((await runAll(sequential(writing, reading))).outcome).toEqual(stop('true'))
  })
})

describe('an empty group', () => {
  it.each([sequential, join, joinOrdered, parallelJoin])('does nothing (%o)', async (group) => {
    expect((await runAll(group())).outcome).toEqual(done)
  })
})

describe('a group of one', () => {
  it.each([sequential, join, joinOrdered, parallelJoin])(
    'stays a group, and comes to what its step does (%o)',
    async (group) => {
      const plan = group(leaf('only', again(3)))
      expect(plan.children.map(({ name }) => name)).toEqual(['only'])
      expect(plan.name).toBe(group.name)
      expect((await runAll(plan)).outcome).toEqual(again(3))
    },
  )
})

function sorted(faults: Outcome['faults']): string[] {
  return faults.map((fault) => JSON.stringify(fault)).sort()
}
