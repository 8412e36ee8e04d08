// Converts the failure of one state's query to a fault. Only actions that use the state fail; other actions and the deletion continue.
//
//   U1. Permanent failures are a fault at once: missing rights, an unknown kind, two objects where one is expected. Transient failures are retried with the
//       call, and are a fault at the last attempt.
//   U2. Failures of the journal and bugs are not faults of a state.

import { ApplicationFailure } from '@temporalio/common'

import type { Fault } from '../../../workflows/kit/index.ts'
import { isFinal, KubeError } from '../../kube/errors.ts'
import { isLastAttempt } from '../attempt.ts'

// Statuses that quick retries of the activity do not change: a fault at the first attempt (U1). The fault is retryable, because a later pass succeeds
// when an administrator has granted the right or created the object.
const IMMEDIATE_FAULT_STATUSES = new Set([401, 403, 404])

/**
 * @param where state and target, for the message.
 * @throws failures that are not faults of the state (U1, U2).
 */
export async function readOrFault<T>(
  where: string,
  read: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly fault: Fault }> {
  try {
    return { value: await read() }
  } catch (error) {
    const fault = faultOf(where, error)
    if (fault === undefined) throw error
    return { fault }
  }
}

function faultOf(where: string, error: unknown): Fault | undefined {
  // Pawl created the failure (finalFailure), so its message already names the state.
  if (error instanceof ApplicationFailure && error.type != null)
    return { code: error.type, message: error.message, retryable: error.nonRetryable !== true }
  if (!(error instanceof KubeError)) return undefined
  const final = isFinal(error)
  if (!final && !IMMEDIATE_FAULT_STATUSES.has(error.status) && !isLastAttempt()) return undefined
  return { code: error.reason, message: `${where}: ${error.message}`, retryable: !final }
}
