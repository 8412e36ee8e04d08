// The end of a run, as the journal is told it.

import type { By, JobInput } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { closeRun } from '../journal/write/close-runs.ts'
import { controllerOf, modeOf } from './controllers.ts'

/** Closes the run's row; what else that means depends on its controller's mode. @throws when the journal cannot be written. */
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
  deps.atWork.ends(workflowID)
}
