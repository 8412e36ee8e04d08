// A fake runtime for plans, without clock and timers: the test decides when a timeout expires or a scope is cancelled.

import { retryLater } from '../../../../workflows/kit/index.ts'
import type { Runtime } from '../../../../workflows/kit/index.ts'

/** Represents a failed activity: the only error that becomes an outcome. */
export class WorldFailure extends Error {}
/** These two represent Temporal's own errors, which the kit must not know. */
export class Cancelled extends Error {}
export class ContinuedAsNew extends Error {}

export interface FakeRuntime extends Runtime {
  /** The durations of all sleeps so far, in milliseconds. */
  readonly slept: number[]
  /** Lets the innermost timeout expire. */
  expire(): void
  /** Cancels all scopes, like a cancellation of the run. */
  cancel(): void
}

export function fakeRuntime(): FakeRuntime {
  const slept: number[] = []
  const scopes: { expire: () => void; cancel: () => void }[] = []
  let cancelled = false
  return {
    slept,
    expire: () => scopes.at(-1)?.expire(),
    cancel() {
      cancelled = true
      for (const scope of scopes) scope.cancel()
    },
    async sleep(ms) {
      await Promise.resolve()
      if (cancelled) throw new Cancelled('cancelled while waiting')
      slept.push(ms)
    },
    async withTimeout(_ms, body) {
      const own = deferred<'expired'>()
      scopes.push({
        expire: () => {
          own.resolve('expired')
        },
        cancel: () => {
          own.reject(new Cancelled('cancelled from outside'))
        },
      })
      try {
        return await Promise.race([body(), own.promise])
      } finally {
        scopes.pop()
      }
    },
    toOutcome: (error) => (error instanceof WorldFailure ? retryLater('WorldFailure', error.message) : undefined),
  }
}

/** A promise that the caller resolves or rejects. */
export function deferred<Value>() {
  let resolve: (value: Value) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  return { promise, resolve, reject }
}
