// What the author of an Installation or a blueprint can mend, as a result: it stands in a condition beside the error.

import { ApplicationFailure } from '@temporalio/common'
import type { FaultCondition } from '../../../workflows/kit/index.ts'
import { finalFailure, isFinal, isNamespaceTerminating, KubeError } from '../../kube/errors.ts'
import { BlueprintError } from '../render/render-errors.ts'

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
    const fault = faultOf(error)
    if (fault === undefined) throw error
    return { fault }
  }
}

/**
 * Runs work whose final failures make a condition False, unless they say so of another one themselves.
 *
 * @throws those, and as they are what a later try may not meet again.
 */
export async function withCondition<T>(condition: FaultCondition, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApplicationFailure && (error.details ?? []).length > 0) throw error
    const fault =
      error instanceof KubeError && (isFinal(error) || isNamespaceTerminating(error)) ? asFault(error) : faultOf(error)
    throw fault === undefined ? error : finalFailure(fault.code, fault.message, condition)
  }
}

function faultOf(error: unknown): AuthorFault | undefined {
  if (error instanceof BlueprintError) return { code: error.code, message: error.message }
  if (error instanceof ApplicationFailure && error.nonRetryable === true)
    return { code: error.type ?? 'Unknown', message: error.message }
  return undefined
}

function asFault({ reason, message }: KubeError): AuthorFault {
  return { code: reason, message }
}
