// The end of a pass and of a run in level mode: what the journal is told, and `kubectl describe` of a fault.

import type { LevelJournal } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { recordWarning } from '../../kube/events.ts'
import { endRun } from '../end-run.ts'
import { recordPass } from '../record-pass.ts'
import { endTurn } from './turns.ts'

export const settleActivities = (deps: Deps): Pick<LevelJournal, 'settleLevel' | 'endLevel'> => ({
  /**
   * Records what the pass met, and when the next one is due, with the same back-off and budget as jobs have. A fault is a Warning on the
   * object; one that the next pass is likely to have got over (`Changed`) is none.
   */
  async settleLevel({ by, subject, target, againMs, attempt, isOutside, fault }) {
    await recordPass(deps, {
      workflowID: by.workflowID,
      runID: by.runID,
      subject,
      change: undefined,
      againMs,
      attempt,
      ...(isOutside && { isOutside }),
      fault,
      passes: by.pass,
    })
    await endTurn(deps, by, subject)
    if (fault === undefined || fault.reason === 'Changed') return
    const report = { operation: 'Reconcile', ...fault }
    await recordWarning(deps, { ...subject, apiVersion: target.apiVersion }, by.runID, report)
  },

  /** Closes the run's row. */
  async endLevel({ by, firstRunID, subject, cause, outcome }) {
    const run = { workflowID: by.workflowID, runID: firstRunID, passes: by.pass }
    await endRun(deps, { ...run, subject, jobID: '', cause }, outcome)
    await endTurn(deps, by, subject)
  },
})
