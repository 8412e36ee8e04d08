// Fakes for unit tests of controllers: activity failures that a test requests, a runtime without waits, and the controller's own activities as
// functions.

import { done, type Fault } from '../plan/outcome.ts'
import type { Runtime } from '../plan/step.ts'
import type { OwnActivities } from '../run/level/own-activities.ts'
import { renderSecretRefs } from '../run/level/secret-values.ts'
import type { FakedCalls, FakedFaults } from './pass-course.ts'

/** Represents the failure of an activity; thrown by `act` and `refresh`, it becomes the action's fault. */
export class FakedFailure extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(`${fault.code}: ${fault.message}`)
    this.name = 'FakedFailure'
    this.fault = fault
  }
}

/** The requested fault of this call. */
export function faultsOf<Of>(faked: Fault | ((of: Of) => Fault | undefined) | undefined, of: Of): Fault | undefined {
  return typeof faked === 'function' ? faked(of) : faked
}

/** `retry` does not wait; a `timeout` uses the real clock, so that a hanging step ends. */
export const testRuntime: Runtime = {
  sleep: () => Promise.resolve(),
  async withTimeout(ms, body) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const expired = new Promise<'expired'>((resolve) => {
      // eslint-disable-next-line no-restricted-globals -- this runs in tests, never in a workflow
      timer = setTimeout(() => {
        resolve('expired')
      }, ms)
    })
    try {
      return await Promise.race([body(), expired])
    } finally {
      clearTimeout(timer)
    }
  },
  toOutcome: (error) => (error instanceof FakedFailure ? { ...done, faults: [error.fault] } : undefined),
}

type Call = (input: unknown) => Promise<unknown>

/** @throws a plain Error when a step calls activities of another controller; the call itself throws when the test gives no answer. */
export function fakeCalls(
  controller: { readonly name: string; readonly activities: OwnActivities | undefined },
  calls: FakedCalls,
  fails: FakedFaults['call'],
): <Of extends object>(of: OwnActivities<Of>) => Of {
  return <Of extends object>(of: OwnActivities<Of>) => {
    if (controller.activities?.load !== of.load)
      throw new Error(
        `controller ${controller.name} calls activities that it does not declare; add them to \`activities\` of defineLevel`,
      )
    const all = Object.keys(of.options).map((name) => [name, callOf(name, calls, fails)] as const)
    return Object.fromEntries(all) as unknown as Of
  }
}

function callOf(name: string, calls: FakedCalls, fails: FakedFaults['call']): Call {
  return async (given) => {
    const input = renderSecretRefs(given)
    const fault = faultsOf(fails, { name, input })
    if (fault !== undefined) throw new FakedFailure(fault)
    const answer = Object.hasOwn(calls, name) ? (calls[name] as Call | undefined) : undefined
    if (answer === undefined)
      throw new Error(`the pass calls the activity ${name}, which has no answer; add one to \`calls\` of runPass`)
    return await answer(input)
  }
}
