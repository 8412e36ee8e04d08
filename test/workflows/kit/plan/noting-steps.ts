// Steps for tests of combinators: they record their runs and return given outcomes.

import fc from 'fast-check'

import {
  action,
  again,
  done,
  fail,
  later,
  type Outcome,
  retryLater,
  runStep,
  type Step,
  stop,
} from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from './fake-runtime.ts'

export interface Pass {
  readonly ran: string[]
  ready?: boolean
}

export const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant(done),
  fc.nat(10_000).map(again),
  fc.nat(10_000).map(later),
  fc.string().map(stop),
  fc.string().map((message) => fail('Final', message)),
  fc.string().map((message) => retryLater('Passing', message)),
)

export async function runAll(plan: Step<Pass>): Promise<{ outcome: Outcome; ran: string[]; slept: number[] }> {
  const runtime = fakeRuntime()
  const pass: Pass = { ran: [] }
  const outcome = await runStep(plan, pass, runtime)
  return { outcome, ran: pass.ran, slept: runtime.slept }
}

export function leaf(name: string, report: Outcome | (() => Outcome) = done): Step<Pass> {
  return action(name, ({ ran }) => {
    ran.push(name)
    return typeof report === 'function' ? report() : report
  })
}

export function leavesOf(reports: readonly Outcome[]): Step<Pass>[] {
  return reports.map((report, index) => leaf(`step ${index}`, report))
}

export function throwing(name: string, error: Error): Step<Pass> {
  return action(name, () => Promise.reject(error))
}
