// The activities that end a pass and a run in level mode: they update the journal and emit a Warning Event for a fault.

import type { LevelJournal } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { recordWarning } from '../../kube/events.ts'
import { controllerOf } from '../controllers.ts'
import { endRun } from '../end-run.ts'
import { recordPass } from '../record-pass.ts'
import { emitEventsAtEnd } from './piggybacked-events.ts'
import { startNotifications } from './notifications.ts'
import { releasePassPermit } from './pass-permits.ts'

export const settleActivities = (deps: Deps): Pick<LevelJournal, 'settleLevel' | 'endLevel'> => ({
  /**
   * Records the result of the pass and the due time of the next one, with the same back-off and rate limit as jobs. A fault is emitted as a Warning
   * Event, except `Changed`, which the next pass usually resolves.
   */
  async settleLevel({ by, subject, target, told: along, againMs, attempt, isOutside, fault }) {
    await emitEventsAtEnd(deps, { by, subject, target, told: along })
    const reportedFault = fault === undefined || fault.reason === 'Changed' ? undefined : fault
    // Records all writes of the pass in one transaction.
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
    await releasePassPermit(deps, by, subject)
    deps.runMetrics?.passEnded(by.workflowID, { againMs, attempt })
    const controller = controllerOf(by)
    const { namespace, name } = subject
    const end = { workflowID: by.workflowID, namespace, name, fault: reportedFault?.reason }
    deps.observerOf?.(controller)?.passEnded?.({ controller, ...end })
    if (reportedFault === undefined) return
    const identity = [subject.uid, by.runID, reportedFault.reason, reportedFault.message]
    // The pass does not wait for notifications: a pass with the same fault notifies again.
    await startNotifications(deps, {
      by,
      subject,
      target,
      event: { type: 'Warning', ...reportedFault },
      identity,
    }).catch((error: unknown) =>
      deps.log.warn(
        { err: error, object: subject, reason: reportedFault.reason },
        'could not send notifications of a fault',
      ),
    )
    const report = { operation: 'Reconcile', ...reportedFault }
    await recordWarning(deps, { ...subject, apiVersion: target.apiVersion }, by.runID, report)
  },

  /** Closes the run's row. */
  async endLevel({ by, firstRunID, subject, target, told: events, cause, outcome }) {
    await emitEventsAtEnd(deps, { by, subject, target, told: events })
    const run = { workflowID: by.workflowID, runID: firstRunID, passes: by.pass }
    await endRun(deps, { ...run, subject, jobID: '', cause }, outcome)
    await releasePassPermit(deps, by, subject)
  },
})
