// The cancellation signal of an activity: aborted when its run cancels it, its time is over, or the worker stops.

import { asyncLocalStorage } from '@temporalio/activity'

/** Signal of the calling activity; undefined outside of activities (tests, start of a process). */
export function activitySignal(): AbortSignal | undefined {
  return asyncLocalStorage.getStore()?.cancellationSignal
}
