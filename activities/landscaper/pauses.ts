// Observes the pause of an object, and writes it to the status of objects without a running job.

import { type Condition, PAUSED_ANNOTATION, setCondition } from '../../workflows/landscaper/contract.ts'
import { listOf } from '../../workflows/landscaper/json-fields.ts'
import {
  handedDownUser,
  isHandedDown,
  isPauseUnreported,
  type PausableView,
  pauseReason,
  pauseStatus,
  type PauseView,
  reportedPause,
} from '../../workflows/landscaper/pause.ts'
import { recordedName } from '../../workflows/landscaper/steered-by.ts'
import { type By, isIdle, type Subject } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { readObject } from '../kube/read-family.ts'
import { statusOf, targetView } from '../kube/object-views.ts'
import { fieldManagerOf } from '../kube/managed-fields.ts'
import type { Patch } from '../kube/merge-patch.ts'
import { writeAll } from '../kube/write.ts'
import { jobController } from '../run/controllers.ts'
import type { LandscaperDeps } from './deps.ts'
import { NO_TRUST, type Trust, NOT_VERIFIED, whoAnnotated } from './trust.ts'

/** The fields of a view about a pause; empty without pause. @param trust without it all user names count as not verified. */
export function pausableView(object: KubeObject, trust = NO_TRUST): PausableView {
  const reason = pauseReason(object)
  const pauseTold = reportedPause(object)
  return {
    ...(reason !== undefined && { paused: { ...whoPaused(object, reason, trust), reason } }),
    ...(pauseTold !== undefined && { pauseTold }),
  }
}

function whoPaused(object: KubeObject, reason: string, trust: Trust): Omit<PauseView, 'reason'> {
  if (!isHandedDown(reason)) return whoAnnotated(object, PAUSED_ANNOTATION, { what: 'pause', trust })
  const by = handedDownUser(object)
  if (by === undefined) return { by: 'its parent' }
  // If a run wrote this annotation, it has verified the user at the root.
  const isOurs = trust.isVouched && trust.self !== undefined && recordedName(object, PAUSED_ANNOTATION) === trust.self
  return { by: isOurs || by.endsWith(NOT_VERIFIED) ? by : `${by}${NOT_VERIFIED}` }
}

export interface TellPauseInput {
  readonly by: By
  readonly subject: Subject
}

export const pauseActivities = (deps: LandscaperDeps) => ({
  /**
   * Writes to the status of an idle object that it is paused, or is not paused any more. Idempotent. The run of an object's job does this for other
   * objects.
   *
   * @throws retryable failures of the API server and the journal.
   */
  async tellPause({ by, subject }: TellPauseInput): Promise<void> {
    const watched = jobController(deps, by).target
    const { uid, namespace, name } = subject
    const found = await readObject(deps, watched, namespace, name)
    if (found === undefined) return
    const trust = await deps.landscaper.trust?.()
    const patchOf = (current: KubeObject): Patch | 'done' | 'superseded' => {
      const view = pausableView(current, trust)
      if (current.metadata.uid !== uid || !isIdle(targetView(current))) return 'superseded'
      return isPauseUnreported(view) ? pausePatch(current, view.paused, deps.now().toISOString()) : 'done'
    }
    const patch = patchOf(found)
    if (typeof patch === 'string') return
    const version = found.metadata.resourceVersion ?? ''
    const [answer] = await writeAll(deps, { ...by, step: 'tellPause', fieldManager: fieldManagerOf(by) }, [
      { verb: 'patchStatus', watched, namespace, name, version, patch, reapply: patchOf },
    ])
    if (answer?.result === 'failed') throw answer.error
  },
})

function pausePatch(object: KubeObject, by: PauseView | undefined, now: string): Patch {
  const { paused, condition } = pauseStatus(by)
  const conditions = listOf(statusOf(object)['conditions']) as readonly Condition[]
  const { generation } = object.metadata
  const about = generation === undefined ? {} : { observedGeneration: generation }
  return { status: { paused, conditions: setCondition(conditions, { ...condition, ...about }, now) } }
}
