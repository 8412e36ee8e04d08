import { describe, expect, it } from 'vitest'

import {
  action,
  checkedPlan,
  done,
  join,
  nop,
  type Outcome,
  runStep,
  sequential,
} from '../../../../workflows/kit/index.ts'
import { throwingStep } from '../../../../workflows/kit/plan/step.ts'
import { fakeRuntime } from './fake-runtime.ts'

const step = (name: string) => action(name, () => done)

describe('a checked plan', () => {
  it('is returned unchanged when its steps have unique names', () => {
    const plan = sequential(step('observe things'), join(step('write things'), nop, nop), join(), join())
    expect(checkedPlan(plan)).toBe(plan)
  })

  it('is rejected with every repeated name', () => {
    const plan = sequential(step('a'), join(step('b'), step('a')), step('b'), step('c'))
    expect(() => checkedPlan(plan)).toThrow(
      'several steps of the plan have the same name: a, b; give each step a different name',
    )
  })

  it('is rejected when a step has no name', () => {
    expect(() => checkedPlan(join(step(' ')))).toThrow('a step of the plan has no name')
  })
})

describe('an action that returns no outcome', () => {
  it.each([
    [undefined, 'undefined'],
    ['done', '"done"'],
    [{}, 'another object'],
    [[done], 'a list'],
    [() => done, 'a function'],
    [{ ...done, faults: [{ code: 7 }] }, 'another object'],
    [{ ...done, againMs: Number.NaN }, 'another object'],
  ])('throws an error with its name for %o', async (value, text) => {
    const plan = sequential(action('look', () => value as Outcome))
    const message = `action "look" returned ${text}; return an outcome, for example done`
    await expect(runStep(plan, {}, fakeRuntime())).rejects.toThrow(message)
  })
})

describe('the step that threw an error', () => {
  it('is the innermost one; values that are no objects have none', async () => {
    const thrown = async (value: unknown) => {
      const bug = action('bug', () => {
        throw value
      })
      return await runStep(sequential(join(bug)), {}, fakeRuntime()).catch(throwingStep)
    }
    expect(await thrown(new Error('no'))).toBe('bug')
    expect(await thrown('a text')).toBeUndefined()
  })
})
