// Who has paused an object, and since when, by what the object itself says of it; and the write that tells of it where no job is open.
//
//   W1. What the object says is no proof: whoever may write the annotation may write that as well. So it is told as not verified.

import {
  ASKED_ANNOTATION,
  type Condition,
  PAUSED_ANNOTATION,
  setCondition,
} from '../../workflows/landscaper/contract.ts'
import { fieldsOf, listOf, textOf } from '../../workflows/landscaper/json-fields.ts'
import {
  isHandedDown,
  isUntold,
  type PausableView,
  pauseReason,
  pauseStatus,
  type PauseView,
  toldPause,
} from '../../workflows/landscaper/pause.ts'
import { type By, isIdle, type Subject } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { readObject } from '../kube/read-family.ts'
import { statusOf, targetView } from '../kube/views.ts'
import { fieldManagerOf, type Patch, writeAll } from '../kube/write.ts'
import { jobController } from '../run/controllers.ts'
import type { LandscaperDeps } from './deps.ts'

/** What of a view tells of a pause; nothing where there is none. */
export function pausableView(object: KubeObject): PausableView {
  const reason = pauseReason(object)
  const pauseTold = toldPause(object)
  return {
    ...(reason !== undefined && { paused: { ...whoPaused(object, reason), reason } }),
    ...(pauseTold !== undefined && { pauseTold }),
  }
}

const LONGEST_NAME = 100

function whoPaused({ metadata }: KubeObject, reason: string): Omit<PauseView, 'reason'> {
  if (isHandedDown(reason)) return { by: 'its parent' }
  const { manager, time } =
    (metadata.managedFields ?? []).find(({ fieldsV1 }) =>
      Object.hasOwn(fieldsOf(fieldsV1?.['f:metadata']?.['f:annotations']), `f:${PAUSED_ANNOTATION}`),
    ) ?? {}
  const person = personIn(metadata.annotations?.[ASKED_ANNOTATION], reason)
  const by = person ?? (manager === undefined ? 'somebody' : `field manager ${manager.slice(0, LONGEST_NAME)}`)
  return { by: `${by} (not verified)`, ...(time !== undefined && { since: time }) }
}

/** Who has asked for this pause at the command line; undefined: nobody, or for something else since. */
function personIn(record: string | undefined, reason: string): string | undefined {
  const { what, by, why } = fieldsOf(parsed(record))
  const isOfIt = what === 'pause' && (textOf(why) || 'true') === reason
  return isOfIt && textOf(by) !== '' ? textOf(by).slice(0, LONGEST_NAME) : undefined
}

/** Anybody may have written it. */
function parsed(record: string | undefined): unknown {
  try {
    return JSON.parse(record ?? 'null')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

export interface TellPauseInput {
  readonly by: By
  readonly subject: Subject
}

export const pauseActivities = (deps: LandscaperDeps) => ({
  /**
   * Says in the status of an idle object what holds it back, or that nothing does any more. Idempotent; one that has a job is left to the run of that.
   *
   * @throws retryable failures of the API server and the journal.
   */
  async tellPause({ by, subject }: TellPauseInput): Promise<void> {
    const watched = jobController(deps, by).target
    const { uid, namespace, name } = subject
    const found = await readObject(deps, watched, namespace, name)
    if (found === undefined) return
    const patchOf = (current: KubeObject): Patch | 'done' | 'superseded' => {
      const view = pausableView(current)
      if (current.metadata.uid !== uid || !isIdle(targetView(current))) return 'superseded'
      return isUntold(view) ? told(current, view.paused, deps.now().toISOString()) : 'done'
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

function told(object: KubeObject, by: PauseView | undefined, now: string): Patch {
  const { paused, condition } = pauseStatus(by)
  const conditions = listOf(statusOf(object)['conditions']) as readonly Condition[]
  const { generation } = object.metadata
  const about = generation === undefined ? {} : { observedGeneration: generation }
  return { status: { paused, conditions: setCondition(conditions, { ...condition, ...about }, now) } }
}
