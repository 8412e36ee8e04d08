// Converts mistakes of the author of an Installation or blueprint into results, which are reported in a condition.

import { ApplicationFailure } from '@temporalio/common'
import type { FaultCondition } from '../../../workflows/kit/index.ts'
import { finalFailure, isFinal, isNamespaceTerminating, KubeError } from '../../kube/errors.ts'
import { BlueprintError } from '../render/render-errors.ts'

export interface AuthorFault {
  readonly code: string
  readonly message: string
}

/**
 * Runs work that reads or checks the author's input.
 *
 * @returns the result, or a fault for final failures of the work. Other errors, such as an unreachable API server, are thrown.
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
 * Runs work whose final failures set a condition to False, unless the failure names a condition itself.
 *
 * @throws the failures with the condition; retryable errors unchanged.
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
