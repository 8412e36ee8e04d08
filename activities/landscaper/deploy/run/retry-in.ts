// How an activity asks Temporal to come again: nothing waits in between.

import { ApplicationFailure } from '@temporalio/common'

// For people who look at the pending activity in Temporal; the whole of it stands in the item's status.
const LONGEST_MESSAGE = 2000

/** The failure to throw. @param delayMs until the next try. */
export function retryIn(type: string, message: string, delayMs: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message: message.slice(0, LONGEST_MESSAGE),
    nextRetryDelay: delayMs,
    nonRetryable: false,
  })
  // It would only say where this line is, in half of the page.
  failure.stack = ''
  return failure
}
