import { describe, expect, it } from 'vitest'

import { action, checkedPlan, done, join, nop, sequential } from '../../../../workflows/kit/index.ts'

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
