// How what goes wrong at the Kubernetes API leaves an activity: as ApplicationFailure with a type code.
// Source: docs/architecture.md "Writes, fields, errors" (four roads), spec/engine.md 1.6.

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
 * The one way out of an activity for failures of the world.
 *
 * @returns a failure whose `type` is the reason (NotFound, Conflict, Invalid, Unreachable, ...), final for requests that cannot
 * succeed unchanged, else retryable. Failures that are already ApplicationFailures pass; anything else is a bug and is rethrown.
 */
export function toApplicationFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error
  if (!(error instanceof KubeError)) throw error
  return ApplicationFailure.create({
    type: error.reason,
    message: error.message,
    // The object is deleted with its namespace: further tries would only delay the deletion.
    nonRetryable: isFinal(error) || isNamespaceTerminating(error),
    ...(error.retryAfterMs !== undefined && { nextRetryDelay: error.retryAfterMs }),
  })
}

/**
 * A final failure of this engine's own making; `type` is one of the codes of docs/errors.md.
 *
 * @param condition what it makes False in the status of the object whose job ends with it.
 */
export function finalFailure(type: string, message: string, condition?: FaultCondition): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, type, ...(condition === undefined ? [] : [{ condition }]))
}

/** What a short call met that a later pass may not meet again, and that no other try inside this workflow task is made for. */
export function laterFailure(error: KubeError): ApplicationFailure {
  return ApplicationFailure.nonRetryable(error.message, error.reason, { isLater: true })
}

/** A failure of this engine's own making that a later try may not meet again. */
export function retryableFailure(type: string, message: string): ApplicationFailure {
  return ApplicationFailure.retryable(message, type)
}
