// Counts the workflow tasks of runs, from their histories.

import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client'
import proto from '@temporalio/proto'
import { inParallel } from '../../../activities/kube/in-parallel.ts'

export interface TaskFigures {
  readonly tasks: number
  /** Tasks that the worker with the cached run did not start within the sticky time-out. */
  readonly timedOut: number
}

// Start-to-close time-outs do not count.
const { TIMEOUT_TYPE_SCHEDULE_TO_START: SCHEDULE_TO_START } = proto.temporal.api.enums.v1.TimeoutType
/** Parallel requests. */
const PARALLEL = 8

/** @param since the start time of the oldest run that counts. */
export async function readTaskFigures(address: string, since: Date): Promise<TaskFigures> {
  const connection = await Connection.connect({ address })
  try {
    const { workflow } = new Client({ connection })
    const runs: WorkflowExecutionInfo[] = []
    for await (const run of workflow.list({ query: `StartTime >= "${since.toISOString()}"` })) runs.push(run)
    let [tasks, timedOut] = [0, 0]
    await inParallel(runs, PARALLEL, async ({ workflowId, runId }) => {
      const { events } = await workflow.getHandle(workflowId, runId).fetchHistory()
      for (const event of events ?? []) {
        if (event.workflowTaskScheduledEventAttributes != null) tasks++
        if (event.workflowTaskTimedOutEventAttributes?.timeoutType === SCHEDULE_TO_START) timedOut++
      }
    })
    return { tasks, timedOut }
  } finally {
    await connection.close()
  }
}
