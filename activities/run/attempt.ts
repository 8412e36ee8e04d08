// The attempt number of the current activity call. Outside of a worker, in tests, each call is the only attempt.

import { asyncLocalStorage } from '@temporalio/activity'
import { SHORT_TRIES } from '../../workflows/kit/index.ts'

/** Whether this is the last quick attempt of a short call. After it, the journal schedules the next pass by its back-off. */
export function isLastAttempt(): boolean {
  return (asyncLocalStorage.getStore()?.info.attempt ?? SHORT_TRIES) >= SHORT_TRIES
}

/** Whether the call has been attempted before. */
export function isRetry(): boolean {
  return (asyncLocalStorage.getStore()?.info.attempt ?? 1) > 1
}
