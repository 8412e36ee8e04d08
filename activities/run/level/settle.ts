// The end of a pass and of a run in level mode: what the journal is told, and `kubectl describe` of a fault.

import type { LevelJournal } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { recordWarning } from '../../kube/events.ts'
import { controllerOf } from '../controllers.ts'
import { endRun } from '../end-run.ts'
import { recordPass } from '../record-pass.ts'
import { tellAtEnd } from './along.ts'
import { notify } from './notices.ts'
import { endTurn } from './turns.ts'

export const settleActivities = (deps: Deps): Pick<LevelJournal, 'settleLevel' | 'endLevel'> => ({
  /**
   * Records what the pass met, and when the next one is due, with the same back-off and budget as jobs have. A fault is a Warning on the
   * object; one that the next pass is likely to have got over (`Changed`) is none.
   */
  async settleLevel({ by, subject, target, told: along, againMs, attempt, isOutside, fault }) {
    await tellAtEnd(deps, { by, subject, target, told: along })
    const told = fault === undefined || fault.reason === 'Changed' ? undefined : fault
    // All that the pass has written, in one transaction.
    await deps.journal.flush(by.workflowID)
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
    const controller = controllerOf(by)
    deps.observerOf?.(controller)?.passEnded?.({ controller, workflowID: by.workflowID })
    if (told === undefined) return
    const identity = [subject.uid, by.runID, told.reason, told.message]
    // Nothing waits for who is told: a pass that meets the fault again tells it again.
    await notify(deps, { by, subject, target, event: { type: 'Warning', ...told }, identity }).catch((error: unknown) =>
      deps.log.warn({ err: error, object: subject, reason: told.reason }, 'nobody could be notified of a fault'),
    )
    const report = { operation: 'Reconcile', ...told }
    await recordWarning(deps, { ...subject, apiVersion: target.apiVersion }, by.runID, report)
  },

  /** Closes the run's row. */
  async endLevel({ by, firstRunID, subject, target, told, cause, outcome }) {
    await tellAtEnd(deps, { by, subject, target, told })
    const run = { workflowID: by.workflowID, runID: firstRunID, passes: by.pass }
    await endRun(deps, { ...run, subject, jobID: '', cause }, outcome)
    await endTurn(deps, by, subject)
  },
})
