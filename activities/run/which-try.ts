// Which try of a call it is that runs. Outside of a worker, in tests, each is the only one.

import { asyncLocalStorage } from '@temporalio/activity'
import { SHORT_TRIES } from '../../workflows/kit/index.ts'

/** Whether a short call has had its few quick tries: what cannot be done now is for the journal's back-off. */
export function isLastTry(): boolean {
  return (asyncLocalStorage.getStore()?.info.attempt ?? SHORT_TRIES) >= SHORT_TRIES
}

/** Whether the call has been tried before. */
export function isFurtherTry(): boolean {
  return (asyncLocalStorage.getStore()?.info.attempt ?? 1) > 1
}
