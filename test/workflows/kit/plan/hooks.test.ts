// Hooks around the steps of a plan. Source: spec/kit.md 6 and 8.

import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  done,
  join,
  joinOrdered,
  type Outcome,
  runStep,
  sequential,
  type Step,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from './fake-runtime.ts'

describe('hooks', () => {
  it('are called for groups and actions, the outer before the inner and after it', async () => {
    const calls: string[] = []
    const hooks = {
      before: ({ name }: { name: string }) => calls.push(`before ${name}`),
      after: ({ name }: { name: string }) => calls.push(`after ${name}`),
    }
    await runStep(join(leaf('a'), sequential(leaf('b'))), undefined, fakeRuntime(), hooks)
    expect(calls).toEqual([
      ...['before join', 'before a', 'after a'],
      ...['before sequential', 'before b', 'after b', 'after sequential', 'after join'],
    ])
  })

  it('get the pass with its object', async () => {
    const seen: unknown[] = []
    const hooks = {
      before: (_: unknown, pass: { readonly of: string }) => seen.push(pass.of),
      after: (_: unknown, __: unknown, pass: { readonly of: string }) => seen.push(pass.of),
    }
    await runStep(leaf('a'), { of: 'Shop one' }, fakeRuntime(), hooks)
    expect(seen).toEqual(['Shop one', 'Shop one'])
  })

  it('get the outcome of a step or its error', async () => {
    const results: unknown[] = []
    const hooks = { after: (_: unknown, result: unknown) => results.push(result) }
    const bug = new TypeError('a bug')
    const plan = joinOrdered(leaf('work', again(2)), throwing('broken', bug))
    await expect(runStep(plan, undefined, fakeRuntime(), hooks)).rejects.toBe(bug)
    expect(results).toEqual([again(2), { thrown: bug }, { thrown: bug }])
  })

  it('come in pairs also when the first one throws, and the step does not run then', async () => {
    const calls: unknown[] = []
    const bug = new Error('a hook with a bug')
    const hooks = {
      before: ({ name }: { name: string }) => {
        calls.push(`before ${name}`)
        if (name === 'work') throw bug
      },
      after: ({ name }: { name: string }, result: unknown) => calls.push([`after ${name}`, result]),
    }
    const work = action<undefined>('work', () => {
      calls.push('ran')
      return done
    })
    await expect(runStep(sequential(work), undefined, fakeRuntime(), hooks)).rejects.toBe(bug)
    const thrown = { thrown: bug }
    expect(calls).toEqual(['before sequential', 'before work', ['after work', thrown], ['after sequential', thrown]])
  })

  it('are called once after a step even if they throw', async () => {
    const calls: string[] = []
    const hooks = {
      after: ({ name }: { name: string }) => {
        calls.push(name)
        throw new Error('a hook with a bug')
      },
    }
    await expect(runStep(leaf('work'), undefined, fakeRuntime(), hooks)).rejects.toThrow('a hook with a bug')
    expect(calls).toEqual(['work'])
  })
})

function leaf(name: string, report: Outcome = done): Step<undefined> {
  return action(name, () => report)
}

function throwing(name: string, error: Error): Step<undefined> {
  return action(name, () => Promise.reject(error))
}
