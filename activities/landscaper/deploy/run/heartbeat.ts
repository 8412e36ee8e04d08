// Tells Temporal that a long call is alive, so that one whose worker died is given to another within seconds.

import { Context } from '@temporalio/activity'

// Well below the time-out of workflows/landscaper/deploy-item/workflow.ts; the SDK sends fewer when they come too often.
const HEARTBEAT_MS = 1000

/** Runs `work` with heartbeats; its signal is aborted when the run cancels the call, and when the worker stops. */
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
