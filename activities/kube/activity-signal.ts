// When an activity is no longer wanted: its run has cancelled it, its time is over, or the worker stops.

import { asyncLocalStorage } from '@temporalio/activity'

/** Of the activity that calls; undefined outside of one (tests, and what a process does at its start). */
export function activitySignal(): AbortSignal | undefined {
  return asyncLocalStorage.getStore()?.cancellationSignal
}
