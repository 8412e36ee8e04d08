// Records the end of a run in the journal.

import type { By, JobInput } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { closeRun } from '../journal/write/close-runs.ts'
import { controllerOf, modeOf } from './controllers.ts'

/** Closes the run's row. Further effects depend on the controller's mode (journal/write/close-runs.ts). @throws failures of the journal. */
export async function endRun(
  deps: Deps,
  {
    workflowID,
    runID,
    subject,
    jobID,
    cause,
    passes,
  }: Pick<By, 'workflowID' | 'runID'> & JobInput & { readonly passes?: number },
  outcome: string,
): Promise<void> {
  await deps.journal.flush(workflowID)
  const { uid, namespace, name } = subject
  const now = deps.now()
  const run = {
    workflow_id: workflowID,
    run_id: runID,
    controller: controllerOf({ workflowID }),
    cluster: deps.cluster,
  }
  const mode = modeOf(deps, { workflowID })
  const row = { ...run, mode, uid, job_id: jobID, namespace, name, cause, started_at: now, passes }
  await closeRun(deps.db, row, outcome, now)
  deps.inFlightRuns.runEnded(workflowID)
  deps.runMetrics?.runEnded(workflowID)
}
