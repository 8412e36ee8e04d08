// What the journal is told of a pass: the row of its run, and when the next one is due.

import { type RetryLimits, retryLimits, type SettleInput } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { retryDelayMs, takeRetryToken } from '../journal/write/backoff.ts'
import { recordJobPhase } from '../journal/write/jobs.ts'
import { upsertWakes } from '../journal/write/wakes.ts'
import { controllerOf } from './controllers.ts'
import { restMs } from './rest.ts'

// A date must stay one, whatever time-out somebody wrote; a look once a day does no harm.
const LONGEST_DELAY_MS = 86_400_000

export interface PassRecord extends Omit<SettleInput, 'pass' | 'cause' | 'children' | 'jobID'> {
  readonly passes?: number
  /** The back-off is not shorter, whatever else asks for a look before. */
  readonly leastMs?: number
}

/** Records in the journal what a pass met, and its next due time, when it wants one. @returns whether the run's row is closed. */
export async function recordPass(
  deps: Deps,
  { workflowID, runID, subject, change, againMs, attempt, fault, passes, leastMs = 0, isOutside }: PassRecord,
): Promise<'open' | 'over'> {
  const restedMs = Math.max(leastMs, restMs(deps.atWork.takeHeldMs(workflowID), attempt))
  const now = deps.now()
  const lastError = change?.lastError ?? fault
  const job = await recordJobPhase(
    deps.db,
    { workflowID, runID, phase: change?.phase, lastError, attempt, passes },
    now,
  )
  // What an ended job waited for went with its end, and would come back here.
  if (againMs === undefined || job === 'over') return job
  const controller = controllerOf({ workflowID })
  const turn = { cluster: deps.cluster, controller, namespace: subject.namespace }
  const limits = limitsOf(deps, controller)
  await deps.db.transaction().execute(async (trx) => {
    // Who patches an object by script draws nobody's tokens: only what came by its due time does.
    const turnMs = async () => (isOutside === true ? 0 : await takeRetryToken(trx, turn, now, limits))
    const delayMs =
      attempt === 0
        ? againMs
        : Math.max(restedMs, Math.min(againMs, Math.max(retryDelayMs(attempt, limits), await turnMs())))
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
          // In job mode a run that is gone is recorded as lost, which wakes its subject.
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
