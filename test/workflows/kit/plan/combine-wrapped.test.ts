// Combinators around one step: condition, time-out, retries, fallback, always; and leaves.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  always,
  done,
  fail,
  join,
  joinOutcomes,
  lastAction,
  later,
  nop,
  orElse,
  type Outcome,
  retry,
  retryLater,
  runStep,
  type Step,
  stop,
  timeout,
  when,
} from '../../../../workflows/kit/index.ts'
import { Cancelled, fakeRuntime, WorldFailure } from './fake-runtime.ts'
import { leaf, outcomes, type Pass, runAll, throwing } from './noting-steps.ts'

describe('when', () => {
  it('evaluates its condition in every pass, and runs the alternative when it is false', async () => {
    const plan = when<Pass>(({ ready }) => ready === true, leaf('work'), leaf('other'))
    const pass: Pass = { ran: [], ready: false }
    await runStep(plan, pass, fakeRuntime())
    pass.ready = true
    await runStep(plan, pass, fakeRuntime())
    expect(pass.ran).toEqual(['other', 'work'])
  })

  it('reports an activity failure of its condition as a fault and runs neither step', async () => {
    const asks = () => {
      throw new WorldFailure('no right')
    }
    const { outcome, ran } = await runAll(join(when(asks, leaf('work'), leaf('other')), leaf('beside')))
    expect(outcome).toEqual(retryLater('WorldFailure', 'no right'))
    expect(ran).toEqual(['beside'])
  })

  it('rethrows a bug of its condition', async () => {
    const asks = () => {
      throw new TypeError('a bug')
    }
    await expect(runAll(when(asks, leaf('work')))).rejects.toThrow('a bug')
  })
})

describe('a step with a time-out', () => {
  it('reports its expiry as a retryable fault', async () => {
    const runtime = fakeRuntime()
    const running = runStep(timeout(50, hanging('slow')), { ran: [] }, runtime)
    runtime.expire()
    expect(await running).toEqual(retryLater('Timeout', 'slow took longer than 50 ms'))
  })

  it('rethrows an outer cancellation', async () => {
    const runtime = fakeRuntime()
    const running = runStep(timeout(50, hanging('slow')), { ran: [] }, runtime)
    runtime.cancel()
    await expect(running).rejects.toBeInstanceOf(Cancelled)
  })

  it.each([-1, Number.NaN, Infinity])('rejects a duration of %d ms', (ms) => {
    expect(() => timeout(ms, nop)).toThrow('expected a number of at least 0')
  })
})

describe('a step with retries', () => {
  const options = { attempts: 3, delayMs: 100, factor: 2 }

  it('runs again while all faults are retryable, with growing delays', async () => {
    const { ran, slept } = await runAll(retry(options, leaf('flaky', retryLater('Passing', 'x'))))
    expect(ran).toEqual(['flaky', 'flaky', 'flaky'])
    expect(slept).toEqual([100, 200])
  })

  it.each([
    ['ends after the first run without a fault', [retryLater('Passing', 'x'), again(3)]],
    ['ends after a final fault', [retryLater('Passing', 'x'), fail('Final', 'z')]],
    ['has the outcome of the last run', [retryLater('A', 'x'), retryLater('B', 'y'), retryLater('C', 'z')]],
  ])('%s', async (_, reports) => {
    const left = [...reports]
    const { outcome, ran } = await runAll(
      retry(
        options,
        leaf('flaky', () => left.shift() ?? done),
      ),
    )
    expect(outcome).toEqual(reports.at(-1))
    expect(ran).toHaveLength(reports.length)
  })

  it.each([
    ['a final fault beside another one', joinOutcomes(fail('Final', 'x'), retryLater('Passing', 'y'))],
    ['a stop beside a fault', joinOutcomes(stop('enough'), retryLater('Passing', 'y'))],
    ['a wish for another pass beside a fault', joinOutcomes(again(1), retryLater('Passing', 'y'))],
  ])('does not run again after %s', async (_, report) => {
    const { outcome, ran } = await runAll(retry(options, leaf('once', report)))
    expect(outcome).toEqual(report)
    expect(ran).toHaveLength(1)
  })

  it('rethrows a cancellation during a delay', async () => {
    const pass: Pass = { ran: [] }
    const runtime = fakeRuntime()
    const flaky = leaf('flaky', () => {
      runtime.cancel()
      return retryLater('Passing', 'x')
    })
    await expect(runStep(retry(options, flaky), pass, runtime)).rejects.toBeInstanceOf(Cancelled)
    expect(pass.ran).toEqual(['flaky'])
  })

  it.each([
    { attempts: 2, delayMs: -1 },
    { attempts: 2, delayMs: 1, factor: -1 },
    { attempts: 2, delayMs: 1, factor: Number.NaN },
  ])('rejects invalid delays (%o)', (wrong) => {
    expect(() => retry(wrong, nop)).toThrow('expected a number of at least 0')
  })

  it('rejects a limit below one run', () => {
    expect(() => retry({ attempts: 0, delayMs: 1 }, nop)).toThrow('retry: found 0 attempts')
  })
})

describe('a step with a fallback', () => {
  it('replaces its faults by the outcome of the fallback', async () => {
    const { outcome, ran } = await runAll(orElse(leaf('first', fail('Final', 'x')), leaf('second', again(5))))
    expect(outcome).toEqual(again(5))
    expect(ran).toEqual(['first', 'second'])
  })

  it.each([stop('enough'), again(0), later(5), done])('does not run the fallback after %o', async (report) => {
    const { outcome, ran } = await runAll(orElse(leaf('first', report), leaf('second')))
    expect(ran).toEqual(['first'])
    expect(outcome).toEqual(report)
  })

  it('shows its faults to hooks although the fallback replaces them', async () => {
    const seen: unknown[] = []
    const plan = orElse(leaf('first', fail('Final', 'x')), leaf('second'))
    await runStep(plan, { ran: [] }, fakeRuntime(), { after: (_, result) => seen.push(result) })
    expect(seen).toEqual([fail('Final', 'x'), done, done])
  })
})

describe('a step that is always run', () => {
  it('joins its outcome with the outcome of the body', async () => {
    await fc.assert(
      fc.asyncProperty(outcomes, outcomes, async (body, last) => {
        const { outcome, ran } = await runAll(always(leaf('body', body), leaf('last', last)))
        expect(outcome).toEqual(joinOutcomes(body, last))
        expect(ran).toEqual(['body', 'last'])
      }),
    )
  })

  it('can get the outcome of the body', async () => {
    await fc.assert(
      fc.asyncProperty(outcomes, outcomes, async (body, last) => {
        const told: Outcome[] = []
        const report = lastAction<Pass>('report', (_, outcome) => {
          told.push(outcome)
          return last
        })
        const { outcome } = await runAll(always(always(leaf('body', body), report), report))
        expect(told).toEqual([body, joinOutcomes(body, last)])
        expect(outcome).toEqual(joinOutcomes(body, last, last))
      }),
    )
  })

  it('reports its own failure as a fault, and hooks see it', async () => {
    const names: string[] = []
    const report = lastAction<Pass>('report', () => Promise.reject(new WorldFailure('no answer')))
    const plan = always(leaf('body', stop('x')), report)
    const outcome = await runStep(plan, { ran: [] }, fakeRuntime(), { after: ({ name }) => names.push(name) })
    expect(outcome).toEqual(joinOutcomes(stop('x'), retryLater('WorldFailure', 'no answer')))
    expect(names).toEqual(['body', 'report', 'always'])
  })

  it('does not run when the body is cancelled', async () => {
    const pass: Pass = { ran: [] }
    const plan = always(throwing('body', new Cancelled('stop')), leaf('last'))
    await expect(runStep(plan, pass, fakeRuntime())).rejects.toBeInstanceOf(Cancelled)
    expect(pass.ran).toEqual([])
  })
})

describe('a leaf', () => {
  it('reports the failure of an activity as a fault', async () => {
    const { outcome } = await runAll(throwing('write', new WorldFailure('no answer')))
    expect(outcome).toEqual(retryLater('WorldFailure', 'no answer'))
  })
})

function hanging(name: string): Step<Pass> {
  return action(name, () => new Promise<never>(() => undefined))
}
