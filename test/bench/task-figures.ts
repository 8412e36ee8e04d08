// Workflow tasks of the runs that began since a moment, from their histories.

import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client'
import proto from '@temporalio/proto'
import { inParallel } from '../../activities/kube/in-parallel.ts'

export interface TaskFigures {
  readonly tasks: number
  /** Given back to the queue of all workers, since the one that has the run in memory did not take it within the sticky time-out. */
  readonly unstuck: number
}

// A task that was begun and timed out is no matter of waiting.
const { TIMEOUT_TYPE_SCHEDULE_TO_START: SCHEDULE_TO_START } = proto.temporal.api.enums.v1.TimeoutType
/** Requests at a time. */
const PARALLEL = 8

/** @param since runs that began before are not counted. */
export async function readTaskFigures(address: string, since: Date): Promise<TaskFigures> {
  const connection = await Connection.connect({ address })
  try {
    const { workflow } = new Client({ connection })
    const runs: WorkflowExecutionInfo[] = []
    for await (const run of workflow.list({ query: `StartTime >= "${since.toISOString()}"` })) runs.push(run)
    let [tasks, unstuck] = [0, 0]
    await inParallel(runs, PARALLEL, async ({ workflowId, runId }) => {
      const { events } = await workflow.getHandle(workflowId, runId).fetchHistory()
      for (const event of events ?? []) {
        if (event.workflowTaskScheduledEventAttributes != null) tasks++
        if (event.workflowTaskTimedOutEventAttributes?.timeoutType === SCHEDULE_TO_START) unstuck++
      }
    })
    return { tasks, unstuck }
  } finally {
    await connection.close()
  }
}
