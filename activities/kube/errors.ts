// Converts errors of the Kubernetes API to ApplicationFailures with a type code when they leave an activity. Source:
// docs/concepts/architecture.md "Writes, fields, errors", spec/engine.md 1.6.

import type { FaultCondition } from '../../workflows/kit/index.ts'
import { ApplicationFailure } from '@temporalio/common'
import { isFinal, isNamespaceTerminating, KubeError } from './kube-error.ts'

export {
  KubeError,
  isNotFound,
  isAlreadyExists,
  isConflict,
  isFinal,
  isNamespaceTerminating,
  isRefusal,
  isRefusalReason,
} from './kube-error.ts'

/**
 * Converts an error of the API to an ApplicationFailure.
 *
 * @returns a failure whose `type` is the reason (NotFound, Conflict, Invalid, Unreachable, ...), final for requests
 * that cannot succeed unchanged, otherwise retryable. ApplicationFailures are returned unchanged; any other error is a
 * bug and is rethrown.
 */
export function toApplicationFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error
  if (!(error instanceof KubeError)) throw error
  return ApplicationFailure.create({
    type: error.reason,
    message: error.message,
    // The namespace deletes the object: retries would only delay its deletion.
    nonRetryable: isFinal(error) || isNamespaceTerminating(error),
    ...(error.retryAfterMs !== undefined && { nextRetryDelay: error.retryAfterMs }),
  })
}

/**
 * A final failure of the engine; `type` is a code of docs/reference/errors-*.md.
 *
 * @param condition the condition that becomes False in the status of the object whose job ends with the failure.
 */
export function finalFailure(type: string, message: string, condition?: FaultCondition): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type, ...(condition === undefined ? [] : [{ condition }]))
}

/** A failure that a later pass may not meet again; this workflow task does not retry it. */
export function laterFailure(error: KubeError): ApplicationFailure {
  return ApplicationFailure.nonRetryable(error.message, error.reason, { isLater: true })
}

/** A retryable failure of the engine. */
export function retryableFailure(type: string, message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, type)
}
