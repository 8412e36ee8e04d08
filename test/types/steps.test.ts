// Mistakes in plans that must not compile, and that ctrlkit finds at run time or never. A run only proves that the module loads.

import { describe, expectTypeOf, it } from 'vitest'

import {
  action,
  always,
  done,
  join,
  lastAction,
  nop,
  sequential,
  type Step,
  stop,
  when,
} from '../../workflows/kit/index.ts'

interface Pass {
  readonly name: string
}

const named = action<Pass>('named', ({ name }) => stop(name))

describe('the type of a plan', () => {
  it('refuses a condition that is evaluated when the plan is built', () => {
    // @ts-expect-error -- a boolean
    void when(true, named)
    expectTypeOf(when(({ name }: Pass) => name !== '', named)).toEqualTypeOf<Step<Pass>>()
  })

  it('refuses children that are not there', () => {
    // @ts-expect-error -- undefined
    void sequential<Pass>(named, undefined)
    expectTypeOf(sequential<Pass>()).toEqualTypeOf<Step<Pass>>()
  })

  it('refuses an action that reports nothing', () => {
    // @ts-expect-error -- neither an outcome nor a promise of one
    void action<Pass>('silent', () => undefined)
    expectTypeOf(action<Pass>('loud', () => done)).toEqualTypeOf<Step<Pass>>()
  })

  it('refuses a last action without a body, because it would have no outcome to receive', () => {
    const last = lastAction<Pass>('last', (_, outcome) => outcome)
    // @ts-expect-error -- no step
    void join<Pass>(named, last)
    // @ts-expect-error -- no step
    void always<Pass>(last, named)
    expectTypeOf(always<Pass>(named, last)).toEqualTypeOf<Step<Pass>>()
  })

  it('takes steps that need nothing of the pass', () => {
    expectTypeOf(join<Pass>(named, nop)).toEqualTypeOf<Step<Pass>>()
  })
})
