import { describe, expect, expectTypeOf, it } from 'vitest'

import {
  type ActivityContext,
  ActivityError,
  activitiesOf,
  type CallsOf,
  type SecretValue,
} from '../../../../../workflows/kit/index.ts'

const module = {
  fetchQuote: ({ symbol }: { symbol: string }, { attempt }: ActivityContext) =>
    Promise.resolve({ symbol, attempt, at: new Date(), lots: [{ size: 1, by: undefined }] }),
  ping: () => Promise.resolve(true),
  // Exports that are no activities: a value, and a function that returns no Promise.
  limit: 5,
  round: (value: number) => Math.round(value),
}
const load = () => Promise.resolve(module)

describe('the activities of a controller', () => {
  it('are called with their input only, and return JSON', () => {
    interface Quote {
      readonly symbol: string
      readonly attempt: number
      readonly at: string
      readonly lots: readonly { readonly size: number; readonly by: undefined }[]
    }
    // The caller may also pass a reference to a value of a Secret for each string of the input.
    type Call = (input: { readonly symbol: string | SecretValue }) => Promise<Quote>
    expectTypeOf<CallsOf<typeof module>['fetchQuote']>().toEqualTypeOf<Call>()
    expectTypeOf<CallsOf<typeof module>['ping']>().toEqualTypeOf<() => Promise<boolean>>()
    expectTypeOf<keyof CallsOf<typeof module>>().toEqualTypeOf<'fetchQuote' | 'ping'>()
  })

  it('are all declared, and exported by the module', () => {
    const options = { timeoutMs: 1000 }
    expect(activitiesOf(load, { fetchQuote: options, ping: options }).options).toHaveProperty('ping')
    // @ts-expect-error -- ping is not declared
    activitiesOf(load, { fetchQuote: options })
    // @ts-expect-error -- pong is not exported
    activitiesOf(load, { fetchQuote: options, ping: options, pong: options })
  })

  it.each([
    [{ timeoutMs: 0 }, 'activity ping: timeoutMs: found 0; expected a whole number of at least 1'],
    [{}, 'activity ping: timeoutMs: found undefined; expected a whole number of at least 1'],
    [{ timeoutMs: 1, attempts: 1.5 }, 'activity ping: attempts: found 1.5; expected a whole number of at least 1'],
    [
      { timeoutMs: 1, heartbeatMs: 10 },
      'activity ping: heartbeatMs: found 10; expected a whole number of at least 1000',
    ],
    [{ timeoutMs: 1, retryMs: -1 }, 'activity ping: retryMs: found -1; expected a whole number of at least 0'],
  ])('reject the options %o', (options, message) => {
    // A value from JavaScript, with the type of valid options.
    const invalid = options as { timeoutMs: number }
    expect(() => activitiesOf(load, { fetchQuote: { timeoutMs: 1 }, ping: invalid })).toThrow(message)
  })

  it('throw ActivityErrors, which have the fields of a fault', () => {
    const cause = new Error('cause')
    const error = new ActivityError('NotPaid', 'pay first', { retryable: false, cause })
    expect(error).toMatchObject({
      name: 'ActivityError',
      code: 'NotPaid',
      retryable: false,
      message: 'pay first',
      cause,
    })
  })
})
