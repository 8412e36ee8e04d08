// Faults that a test makes, as the failures of activities that they would be in a run.

import { done, type Fault } from '../plan/outcome.ts'
import type { Runtime } from '../plan/runtime.ts'

/** Stands for the failure of an activity; thrown by `act` and `refresh`, it becomes the action's fault. */
export class FakedFailure extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(`${fault.code}: ${fault.message}`)
    this.name = 'FakedFailure'
    this.fault = fault
  }
}

/** The fault that is meant for this call. */
export function faultsOf<Of>(faked: Fault | ((of: Of) => Fault | undefined) | undefined, of: Of): Fault | undefined {
  return typeof faked === 'function' ? faked(of) : faked
}

/** Waits of `retry` are over at once; a `timeout` expires by the clock, so that a step which hangs ends. */
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
