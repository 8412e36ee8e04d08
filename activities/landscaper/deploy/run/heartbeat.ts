// Sends heartbeats during long activities, so that Temporal reschedules the activity of a dead worker within seconds.

import { Context } from '@temporalio/activity'

// Well below the heartbeat timeout of workflows/landscaper/deploy-item/jobs.ts; the SDK throttles heartbeats.
const HEARTBEAT_MS = 1000

/** Runs `work` with heartbeats. Its signal is aborted when the run cancels the activity and when the worker stops. */
export async function withHeartbeat<T>(work: (signal: AbortSignal, attempt: number) => Promise<T>): Promise<T> {
  const { heartbeat, cancellationSignal, info } = activity()
  const timer = setInterval(heartbeat, HEARTBEAT_MS)
  try {
    return await work(cancellationSignal, info.attempt)
  } finally {
    clearInterval(timer)
  }
}

function activity() {
  const context = Context.current()
  return {
    heartbeat: () => context.heartbeat(),
    cancellationSignal: context.cancellationSignal,
    info: context.info,
  }
}
