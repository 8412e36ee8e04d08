// A state that cannot be read is the fault of the actions that ask for it, and of nobody else: other actions go on, and so does a deletion.
//
//   U1. What the server, or the query, will say of it in the next moment, too, is a fault at once: no right to read it, no such kind, two objects
//       where one is meant. What may be over in a moment is left to the tries of the call, and is a fault in the last one.
//   U2. A failure of the journal, or a bug, is nothing of a state.

import { ApplicationFailure } from '@temporalio/common'

import type { Fault } from '../../../workflows/kit/index.ts'
import { isFinal, KubeError } from '../../kube/errors.ts'
import { isLastAttempt } from '../attempt.ts'

// Neither changes within the tries of a call.
const LASTING_STATUS = new Set([401, 403, 404])

/**
 * @param where the state and the object that it is of, for the message.
 * @throws what is no fault of the state (U1, U2).
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
  // Of our own making, and said in full.
  if (error instanceof ApplicationFailure && error.type != null)
    return { code: error.type, message: error.message, retryable: error.nonRetryable !== true }
  if (!(error instanceof KubeError)) return undefined
  const final = isFinal(error)
  if (!final && !LASTING_STATUS.has(error.status) && !isLastAttempt()) return undefined
  return { code: error.reason, message: `${where}: ${error.message}`, retryable: !final }
}
