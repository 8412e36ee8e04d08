import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  action,
  again,
  always,
  done,
  fail,
  interrupts,
  join,
  joinOrdered,
  joinOutcomes,
  later,
  nop,
  orElse,
  type Outcome,
  parallelJoin,
  retry,
  retryLater,
  runStep,
  sequential,
  type Step,
  stop,
  timeout,
  when,
} from '../../../../workflows/kit/index.ts'
import * as combinators from '../../../../workflows/kit/plan/combine.ts'
import { Cancelled, ContinuedAsNew, fakeRuntime, WorldFailure } from './fake-runtime.ts'

interface Pass {
  readonly ran: string[]
  ready?: boolean
}

const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant(done),
  fc.nat(10_000).map(again),
  fc.nat(10_000).map(later),
  fc.string().map(stop),
  fc.string().map((message) => fail('Final', message)),
  fc.string().map((message) => retryLater('Passing', message)),
)

describe('a sequence', () => {
  it('ends with the first outcome that interrupts, and comes to the join of all up to there', async () => {
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

  it('comes to the same however it is nested', async () => {
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

  it('goes on behind a wish for later, which is kept', async () => {
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
  it('runs every step in declared order and joins what they report', async () => {
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
  it('comes to the same in any order, but for the order of faults and the reason that is kept', async () => {
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

  it('keeps the order that it was given, in every pass and in the drawing', async () => {
    const steps = Object.freeze(leavesOf(Array.from({ length: 20 }, () => done)))
    const plan = join(...steps)
    const [first, second] = [await runAll(plan), await runAll(plan)]
    expect(plan.children).toEqual(steps)
    expect(second.ran).toEqual(first.ran)
    expect(first.ran).toEqual(steps.map(({ name }) => name))
  })

  it('runs its other steps after one that wants another pass at once, has stopped, or has failed', async () => {
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
  it('sees what an earlier step of the pass has put into it', async () => {
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

describe('when', () => {
  it('asks again on the next pass', async () => {
    const plan = when<Pass>(({ ready }) => ready === true, leaf('work'))
    const pass: Pass = { ran: [], ready: false }
    await runStep(plan, pass, fakeRuntime())
    pass.ready = true
    await runStep(plan, pass, fakeRuntime())
    expect(pass.ran).toEqual(['work'])
  })

  it('runs the other step when the condition does not hold', async () => {
    const { ran } = await runAll(when(() => false, leaf('work'), leaf('other')))
    expect(ran).toEqual(['other'])
  })

  it('reports what its condition meets in the world, and runs neither step', async () => {
    const asks = () => {
      throw new WorldFailure('no right')
    }
    const { outcome, ran } = await runAll(join(when(asks, leaf('work'), leaf('other')), leaf('beside')))
    expect(outcome).toEqual(retryLater('WorldFailure', 'no right'))
    expect(ran).toEqual(['beside'])
  })

  it('passes on what is a bug of its condition', async () => {
    const asks = () => {
      throw new TypeError('a bug')
    }
    await expect(runAll(when(asks, leaf('work')))).rejects.toThrow('a bug')
  })

  it('is named after its condition', () => {
    const isReady = ({ ready }: Pass) => ready === true
    expect(when(isReady, leaf('work')).name).toBe('when isReady')
  })
})

describe('a step with a time-out', () => {
  it('tells its own expiry by a retryable fault', async () => {
    const runtime = fakeRuntime()
    const running = runStep(timeout(50, hanging('slow')), { ran: [] }, runtime)
    runtime.expire()
    expect(await running).toEqual(retryLater('Timeout', 'slow took longer than 50 ms'))
  })

  it('passes an outer cancellation on', async () => {
    const runtime = fakeRuntime()
    const running = runStep(timeout(50, hanging('slow')), { ran: [] }, runtime)
    runtime.cancel()
    await expect(running).rejects.toBeInstanceOf(Cancelled)
  })

  it('reports what the step reports when it ends in time', async () => {
    expect((await runAll(timeout(50, leaf('quick', again(7))))).outcome).toEqual(again(7))
  })

  it.each([-1, Number.NaN, Infinity])('cannot be built with %d ms', (ms) => {
    expect(() => timeout(ms, nop)).toThrow('expected a number of at least 0')
  })
})

describe('a step with retries', () => {
  const options = { attempts: 3, delayMs: 100, factor: 2 }

  it('runs again while all faults are retryable, with growing waits', async () => {
    const { ran, slept } = await runAll(retry(options, leaf('flaky', retryLater('Passing', 'x'))))
    expect(ran).toEqual(['flaky', 'flaky', 'flaky'])
    expect(slept).toEqual([100, 200])
  })

  it('stops at the first run that reports no fault', async () => {
    const reports = [retryLater('Passing', 'x'), again(3)]
    const { outcome, ran } = await runAll(
      retry(
        options,
        leaf('flaky', () => reports.shift() ?? done),
      ),
    )
    expect(outcome).toEqual(again(3))
    expect(ran).toHaveLength(2)
  })

  it.each([
    ['a final fault', joinOutcomes(fail('Final', 'x'), retryLater('Passing', 'y'))],
    ['a stop beside a fault', joinOutcomes(stop('enough'), retryLater('Passing', 'y'))],
    ['a wish for another pass beside a fault', joinOutcomes(again(1), retryLater('Passing', 'y'))],
  ])('does not run again after %s', async (_, report) => {
    const { outcome, ran } = await runAll(retry(options, leaf('once', report)))
    expect(outcome).toEqual(report)
    expect(ran).toHaveLength(1)
  })

  it('reports what the last run reported', async () => {
    const reports = [retryLater('Passing', 'x'), retryLater('Other', 'y'), fail('Final', 'z')]
    const { outcome } = await runAll(
      retry(
        options,
        leaf('flaky', () => reports.shift() ?? done),
      ),
    )
    expect(outcome).toEqual(fail('Final', 'z'))
  })

  it('passes on a cancellation that comes while it waits', async () => {
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
  ])('cannot be built with waits that are none (%o)', (wrong) => {
    expect(() => retry(wrong, nop)).toThrow('expected a number of at least 0')
  })

  it('cannot be built without a run', () => {
    expect(() => retry({ attempts: 0, delayMs: 1 }, nop)).toThrow('retry has 0 attempts')
  })
})

describe('a step with a fallback', () => {
  it('replaces its faults by the outcome of the fallback', async () => {
    const { outcome, ran } = await runAll(orElse(leaf('first', fail('Final', 'x')), leaf('second', again(5))))
    expect(outcome).toEqual(again(5))
    expect(ran).toEqual(['first', 'second'])
  })

  it.each([stop('enough'), again(0), later(5), done])('needs no fallback after %o', async (report) => {
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
  it('joins its outcome to that of the body', async () => {
    await fc.assert(
      fc.asyncProperty(outcomes, outcomes, async (body, last) => {
        const { outcome, ran } = await runAll(always(leaf('body', body), leaf('last', last)))
        expect(outcome).toEqual(joinOutcomes(body, last))
        expect(ran).toEqual(['body', 'last'])
      }),
    )
  })

  it('is not run when the body is cancelled', async () => {
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

describe('the list of what things pass through', () => {
  it('has every combinator', () => {
    const names = new Set(wrappers.map(([name]) => name))
    expect(Object.keys(combinators).filter((name) => !names.has(name))).toEqual([])
  })
})

describe.each(wrappers)('what passes through %s', (_name, wrap) => {
  it.each<Error>([new Cancelled('x'), new ContinuedAsNew('x'), new TypeError('a bug')])(
    'is %o, untouched',
    async (error) => {
      await expect(runStep(wrap(throwing('inner', error)), { ran: [] }, fakeRuntime())).rejects.toBe(error)
    },
  )

  it('is seen by hooks that come in pairs, also when a step throws', async () => {
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

async function runAll(plan: Step<Pass>): Promise<{ outcome: Outcome; ran: string[]; slept: number[] }> {
  const runtime = fakeRuntime()
  const pass: Pass = { ran: [] }
  const outcome = await runStep(plan, pass, runtime)
  return { outcome, ran: pass.ran, slept: runtime.slept }
}

function leaf(name: string, report: Outcome | (() => Outcome) = done): Step<Pass> {
  return action(name, ({ ran }) => {
    ran.push(name)
    return typeof report === 'function' ? report() : report
  })
}

function leavesOf(reports: readonly Outcome[]): Step<Pass>[] {
  return reports.map((report, index) => leaf(`step ${index}`, report))
}

function sorted(faults: Outcome['faults']): string[] {
  return faults.map((fault) => JSON.stringify(fault)).sort()
}

function throwing(name: string, error: Error): Step<Pass> {
  return action(name, () => Promise.reject(error))
}

function hanging(name: string): Step<Pass> {
  return action(name, () => new Promise<never>(() => undefined))
}
