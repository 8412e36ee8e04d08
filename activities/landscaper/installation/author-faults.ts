// What the author of an Installation or a blueprint can mend, as a result: it stands in a condition beside the error.

import { ApplicationFailure } from '@temporalio/common'
import { BlueprintError } from '../render/blueprint-error.ts'

export interface AuthorFault {
  readonly code: string
  readonly message: string
}

/**
 * Runs what reads or checks what an author has written.
 *
 * @returns its result, or the fault that stands for its final failures; others, such as no answer of the API server, pass.
 */
export async function withAuthorFaults<T>(work: () => Promise<T>): Promise<T | { readonly fault: AuthorFault }> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof BlueprintError) return { fault: { code: error.code, message: error.message } }
    if (error instanceof ApplicationFailure && error.nonRetryable === true) {
      return { fault: { code: error.type ?? 'Unknown', message: error.message } }
    }
    throw error
  }
}
