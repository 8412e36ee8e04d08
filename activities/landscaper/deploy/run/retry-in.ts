// The failure with which an activity requests a retry from Temporal, so that waiting occupies no slot.

import { ApplicationFailure } from '@temporalio/common'

// For users who see the pending activity in Temporal; the item's status has the complete message.
const LONGEST_MESSAGE = 2000

/** Creates the failure to throw. @param delayMs until the retry. */
export function retryIn(type: string, message: string, delayMs: number): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type,
    message: message.slice(0, LONGEST_MESSAGE),
    nextRetryDelay: delayMs,
    nonRetryable: false,
  })
  // The stack would only show this line, and fill half of the page.
  failure.stack = ''
  return failure
}
