// Sequences and groups: the steps that run, their order, and the joined outcome.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  done,
  interrupts,
  join,
  joinOrdered,
  joinOutcomes,
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
