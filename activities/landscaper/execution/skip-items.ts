// Items that somebody has left out: they count as succeeded for the order, without being deployed, and say so. Source: docs/adr/0053.
//
//   S1. It is the end of the item's job, in one status write, whether that has begun or not, or has failed in this job already.
//   S2. Who has taken the annotation off meanwhile is heard: the item is as it was.
//   S3. What was not deployed as its spec is now is not called so: else an item with `updateOnChangeOnly` would be left out of later jobs, too.

import { SKIP_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type DeployItem, SKIPPED_CONDITION } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn } from '../../../workflows/landscaper/deploy-item/served-types.ts'
import { type ConditionNews, nextConditions } from '../../../workflows/landscaper/job-conditions.ts'
import { isIdle } from '../../../workflows/kit/index.ts'
import { targetView } from '../../kube/views.ts'
import type { Patch } from '../../kube/write.ts'
import type { LandscaperDeps } from '../deps.ts'
import { skipReason } from '../deploy-item-view.ts'
import { NO_TRUST, type Trust } from '../trust.ts'
import { whoAnnotated } from '../who-annotated.ts'
import { writeEnds } from './end-items.ts'
import type { BatchResult, ItemsInput } from './item-batch.ts'

export const skipItemActivities = (deps: LandscaperDeps) => ({
  /** Ends those of the given items that are still to be left out as succeeded. Idempotent. @throws retryable failures. */
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
  const news: ConditionNews = {
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
      // A deployer of others would never take them back.
      ...(isTypeBuiltIn(object.spec.type) && { conditions: nextConditions(object.status?.conditions, news, now) }),
      transitionTimes: { ...times, finishedTime: now },
    },
  }
}
