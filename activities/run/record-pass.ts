// Records a pass in the journal: it updates the run's row and schedules the next pass.

import { type RetryLimits, retryLimits, type SettleInput } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { retryDelayMs, takeRetryToken } from '../journal/write/retry-limits.ts'
import { recordJobPhase } from '../journal/write/jobs.ts'
import { upsertWakes } from '../journal/write/wakes.ts'
import { controllerOf } from './controllers.ts'
import { slowCallBackOffMs } from './slow-call-back-off.ts'

// Users may write time-outs that exceed the range of a date; one pass a day is harmless.
const LONGEST_DELAY_MS = 86_400_000

export interface PassRecord extends Omit<SettleInput, 'pass' | 'cause' | 'children' | 'jobID'> {
  readonly passes?: number
  /** Lower limit of the back-off, also if an earlier pass is requested. */
  readonly leastMs?: number
}

/** Records the result of a pass and, if requested, the due time of the next one. @returns 'over' if the run's row is closed. */
export async function recordPass(
  deps: Deps,
  { workflowID, runID, subject, change, againMs, attempt, fault, passes, leastMs = 0, isOutside }: PassRecord,
): Promise<'open' | 'over'> {
  const backOffMs = Math.max(leastMs, slowCallBackOffMs(deps.inFlightRuns.takeSlowestCallMs(workflowID), attempt))
  const now = deps.now()
  const lastError = change?.lastError ?? fault
  const job = await recordJobPhase(
    deps.db,
    { workflowID, runID, phase: change?.phase, lastError, attempt, passes },
    now,
  )
  // The end of a job deletes its wakes; this write would create one again.
  if (againMs === undefined || job === 'over') return job
  const controller = controllerOf({ workflowID })
  const turn = { cluster: deps.cluster, controller, namespace: subject.namespace }
  const limits = limitsOf(deps, controller)
  await deps.db.transaction().execute(async (trx) => {
    // Only passes at due times take a token. A pass after an external event takes none, so a script that patches an object uses up no tokens.
    const tokenDelayMs = async () => (isOutside === true ? 0 : await takeRetryToken(trx, turn, now, limits))
    const delayMs =
      attempt === 0
        ? againMs
        : Math.max(backOffMs, Math.min(againMs, Math.max(retryDelayMs(attempt, limits), await tokenDelayMs())))
    await upsertWakes(
      trx,
      [
        {
          controller,
          uid: subject.uid,
          job_id: '',
          cluster: deps.cluster,
          namespace: subject.namespace,
          name: subject.name,
          seq: 0,
          due: new Date(now.getTime() + Math.min(delayMs, LONGEST_DELAY_MS)),
          foreign_event: true,
          // In job mode a missing run is recorded as lost, which wakes its subject.
          may_start: deps.modes[controller] === 'level',
          writer: workflowID,
          cause: attempt === 0 ? 'due' : `retry ${attempt}`,
        },
      ],
      now,
    )
  })
  return job
}

function limitsOf({ controllers }: Pick<Deps, 'controllers'>, name: string): Required<RetryLimits> {
  const controller = controllers.get(name)
  return retryLimits(controller?.mode === 'level' ? controller.settings : undefined)
}
