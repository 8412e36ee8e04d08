// The end of a pass and of a run in level mode: what the journal is told. Nothing here is written to Kubernetes.

import type { LevelJournal } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { closeLevelRun } from '../journal/level-runs.ts'
import { toApplicationFailure } from '../kube/errors.ts'
import { recordPass } from '../kube/status.ts'

export const settleActivities = (deps: Deps): LevelJournal => ({
  /** Records what the pass met, and when the next one is due, with the same back-off and budget as jobs have. */
  async settleLevel({ by, subject, againMs, attempt, fault }) {
    try {
      await recordPass(deps, {
        workflowID: by.workflowID,
        runID: by.runID,
        subject,
        jobID: '',
        change: undefined,
        againMs,
        attempt,
        fault,
      })
    } catch (error) {
      throw toApplicationFailure(error)
    }
  },

  /** Closes the run's row. */
  async endLevel({ by, firstRunID, subject, cause, outcome }) {
    const { uid, namespace, name } = subject
    const run = { workflow_id: by.workflowID, run_id: firstRunID, controller: by.workflowID.split('/')[0] ?? '' }
    const now = deps.now()
    await closeLevelRun(
      deps.db,
      { ...run, cluster: deps.cluster, uid, job_id: '', namespace, name, cause, started_at: now },
      outcome,
      now,
    )
  },
})
