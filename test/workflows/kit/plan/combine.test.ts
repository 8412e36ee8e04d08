// Properties of every combinator: errors pass through unchanged, and hooks come in pairs.

import { describe, expect, it } from 'vitest'

import {
  always,
  fail,
  join,
  joinOrdered,
  orElse,
  parallelJoin,
  retry,
  runStep,
  sequential,
  type Step,
  timeout,
  when,
} from '../../../../workflows/kit/index.ts'
import * as combinators from '../../../../workflows/kit/plan/combine.ts'
import { Cancelled, ContinuedAsNew, fakeRuntime } from './fake-runtime.ts'
import { leaf, type Pass, throwing } from './noting-steps.ts'

const wrappers: readonly (readonly [string, (step: Step<Pass>) => Step<Pass>])[] = [
  ['sequential', (step) => sequential(step, leaf('after'))],
  ['join', (step) => join(leaf('before'), step)],
  ['joinOrdered', (step) => joinOrdered(step)],
  ['parallelJoin', (step) => parallelJoin(leaf('before'), step, leaf('after'))],
  ['when', (step) => when(() => true, step)],
  ['the other step of when', (step) => when(() => false, leaf('not this'), step)],
  ['timeout', (step) => timeout(10, step)],
  ['retry', (step) => retry({ attempts: 3, delayMs: 1 }, step)],
  ['orElse', (step) => orElse(step, leaf('fallback'))],
  ['the fallback of orElse', (step) => orElse(leaf('first', fail('F', 'x')), step)],
  ['always', (step) => always(step, leaf('last'))],
  ['the last step of always', (step) => always(leaf('body'), step)],
]

describe('the list of errors that pass through combinators', () => {
  it('covers every combinator', () => {
    const names = new Set(wrappers.map(([name]) => name))
    expect(Object.keys(combinators).filter((name) => !names.has(name))).toEqual([])
  })
})

describe.each(wrappers)('an error that passes through %s', (_name, wrap) => {
  it.each<Error>([new Cancelled('x'), new ContinuedAsNew('x'), new TypeError('a bug')])(
    'is %o, untouched',
    async (error) => {
      await expect(runStep(wrap(throwing('inner', error)), { ran: [] }, fakeRuntime())).rejects.toBe(error)
    },
  )

  it('reaches hooks, which come in pairs also when a step throws', async () => {
    for (const inner of [leaf('inner'), throwing('inner', new TypeError('a bug'))]) {
      const open: unknown[] = []
      const seen = new Set<string>()
      const hooks = {
        before: (step: { name: string }) => {
          open.push(step)
          seen.add(step.name)
        },
        after: (step: object) => {
          expect(open).toContain(step)
          open.splice(open.indexOf(step), 1)
        },
      }
      await runStep(wrap(inner), { ran: [] }, fakeRuntime(), hooks).catch(() => undefined)
      expect(open).toEqual([])
      expect(seen).toContain('inner')
    }
  })
})
