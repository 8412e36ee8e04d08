// Workflows with plans whose steps wait forever or continue as new, for tests of the combinators on a real server.

import { CancellationScope, condition, continueAsNew, isCancellation } from '@temporalio/workflow'

import {
  action,
  always,
  done,
  fail,
  join,
  joinOrdered,
  orElse,
  type Outcome,
  parallelJoin,
  retry,
  retryLater,
  runStep,
  sequential,
  type Step,
  timeout,
  when,
} from '../../workflows/kit/index.ts'
import { temporalRuntime } from '../../workflows/kit/run/loop/temporal.ts'

type Log = string[]

const later = (name: string): Step<Log> =>
  action(name, (log) => {
    log.push(name)
    return done
  })

/** Waits until its scope is cancelled, and logs the cancellation. */
const endless = (name: string): Step<Log> =>
  action(name, async (log) => {
    try {
      await condition(() => false)
    } catch (error) {
      if (isCancellation(error)) log.push(`${name} is cancelled`)
      throw error
    }
    return done
  })

/** Plans with steps that wait, by name. */
const WAITING: Readonly<Record<string, Step<Log>>> = {
  alone: timeout(50, endless('hang')),
  inParallel: timeout(50, parallelJoin(endless('one'), later('quick'), endless('other'))),
  inside: timeout(60_000, joinOrdered(timeout(50, endless('inner')), later('after'))),
  outside: timeout(50, sequential(timeout(60_000, endless('inner')), later('after'))),
  withFallback: orElse(timeout(50, endless('hang')), later('fallback')),
  again: retry({ attempts: 2, delayMs: 10 }, timeout(20, endless('hang'))),
  long: timeout(60_000, always(endless('hang'), later('last'))),
  betweenRuns: retry(
    { attempts: 2, delayMs: 60_000 },
    action('flaky', () => retryLater('Passing', 'x')),
  ),
}

/** Functions that put a step into a combinator, by the combinator's name in the kit. */
const AROUND: Readonly<Record<string, (step: Step<Log>) => Step<Log>>> = {
  sequential: (step) => sequential(step, later('after')),
  join: (step) => join(step, later('after')),
  joinOrdered: (step) => joinOrdered(step, later('after')),
  parallelJoin: (step) => parallelJoin(later('beside'), step),
  when: (step) => when(() => true, step),
  timeout: (step) => timeout(60_000, step),
  retry: (step) => retry({ attempts: 3, delayMs: 1 }, step),
  orElse: (step) =>
    orElse(
      action('first', () => fail('F', 'x')),
      step,
    ),
  always: (step) => always(step, later('last')),
}

export interface Waited {
  readonly outcome: Outcome
  readonly log: readonly string[]
  readonly isCancelled: boolean
  /** Steps with a `before` hook but no `after` hook, or the reverse. */
  readonly unpaired: readonly string[]
}

/** Runs a plan that waits. A cancellation of the run itself is rethrown. */
export async function waiting(name: string): Promise<Waited> {
  const log: Log = []
  const open: string[] = []
  const hooks = {
    before: (step: { readonly name: string }) => open.push(step.name),
    after: (step: { readonly name: string }) => {
      const last = open.lastIndexOf(step.name)
      if (last === -1) open.push(`${step.name} was not begun`)
      else open.splice(last, 1)
    },
  }
  const outcome = await runStep(planOf(WAITING, name), log, temporalRuntime, hooks)
  return { outcome, log, isCancelled: CancellationScope.current().consideredCancelled, unpaired: open }
}

/** Continues as new inside a combinator. The second run returns the steps whose `before` hook the first run called. */
export async function continuing(name: string, seen: readonly string[] = []): Promise<readonly string[]> {
  if (seen.length > 0) return seen
  const calls: string[] = []
  const leave = action<Log>('leave', () => continueAsNew<typeof continuing>(name, [...calls, 'left']))
  await runStep(planOf(AROUND, name)(leave), [], temporalRuntime, { before: (step) => calls.push(step.name) })
  return ['the run went on']
}

function planOf<Plan>(plans: Readonly<Record<string, Plan>>, name: string): Plan {
  const plan = plans[name]
  if (plan === undefined) throw new Error(`no plan is called ${name}`)
  return plan
}
