// Ends items that a user has skipped: they count as succeeded for the order without a deployment, and a condition says so. Source: docs/adr/0053.
//
//   S1. The item's job ends in one status write, whether it has started or not, or has failed in this job already.
//   S2. If the user has removed the annotation meanwhile, the item is unchanged.
//   S3. An item whose current spec was not deployed does not get its generation: otherwise later jobs would skip an item with `updateOnChangeOnly`,
//       too.

import { SKIP_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type DeployItem, SKIPPED_CONDITION } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/handled-types.ts'
import { type ConditionChanges, nextConditions } from '../../../workflows/landscaper/job-status.ts'
import { isIdle } from '../../../workflows/kit/index.ts'
import { targetView } from '../../kube/object-views.ts'
import type { Patch } from '../../kube/write.ts'
import type { LandscaperDeps } from '../deps.ts'
import { skipReason } from '../deploy-item-view.ts'
import { NO_TRUST, type Trust, whoAnnotated } from '../trust.ts'
import { writeEnds } from './end-items.ts'
import type { BatchResult, ItemsInput } from './item-batch.ts'

export const skipItemActivities = (deps: LandscaperDeps) => ({
  /** Ends the given items that are still skipped as succeeded. Idempotent. @throws retryable failures. */
  async skipItems(input: ItemsInput): Promise<BatchResult> {
    const { jobID } = input
    const trust = (await deps.landscaper.trust?.()) ?? NO_TRUST
    return await writeEnds(deps, 'skipItems', input, (object, { before, now }) =>
      skip(object, { before, jobID, now, trust }),
    )
  },
})

interface Skipping {
  readonly before: string | undefined
  readonly jobID: string
  readonly now: string
  readonly trust: Trust
}

function skip(object: DeployItem, { before, jobID, now, trust }: Skipping): Patch | 'done' | 'superseded' {
  const reason = skipReason(object)
  const { jobID: found, jobIDFinished, phase, deleting } = targetView(object)
  if (reason === undefined || deleting || (jobIDFinished === jobID && phase === SUCCEEDED)) return 'done'
  const isMeant = found === jobID || (found === before && isIdle({ jobID: found, jobIDFinished }))
  return isMeant ? skipped(object, { jobID, now, reason, trust }) : 'superseded'
}

const SUCCEEDED = 'Succeeded'

function skipped(
  object: DeployItem,
  { jobID, now, reason, trust }: Omit<Skipping, 'before'> & { readonly reason: string },
): Patch {
  const { by, since } = whoAnnotated(object, SKIP_ANNOTATION, { what: 'skip', trust })
  const why = reason === 'true' ? '' : `: ${reason}`
  const message = `not deployed: skipped by ${by}${since === undefined ? '' : ` since ${since}`}${why}`
  const { generation } = object.metadata
  const news: ConditionChanges = {
    stage: { phase: SUCCEEDED, finished: true, generation },
    changes: [{ type: SKIPPED_CONDITION, status: 'True', reason: 'SkippedByAnnotation', message }],
    isFirst: true,
  }
  const { jobID: found, phase } = targetView(object)
  const isTriggered = found === jobID
  // S3
  const isDeployed = phase === SUCCEEDED && object.status?.observedGeneration === generation
  const times = isTriggered ? {} : { triggerTime: null, initTime: null, waitTime: null }
  return {
    status: {
      jobID,
      jobIDFinished: jobID,
      phase: SUCCEEDED,
      lastError: null,
      lastErrors: null,
      firstError: null,
      ...(!isDeployed && { observedGeneration: null }),
      // Other programs' deployers would never remove the conditions.
      ...(isTypeBuiltIn(object.spec.type) && { conditions: nextConditions(object.status?.conditions, news, now) }),
      transitionTimes: { ...times, finishedTime: now },
    },
  }
}
