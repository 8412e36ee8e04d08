// Removes the retry request of an item after the job has started. The status keeps the requesting user while the job is the item's last one.
// Source: docs/adr/0053, docs/adr/0054.

import { type Condition, OPERATION_ANNOTATION, setCondition } from '../../../../workflows/landscaper/contract.ts'
import {
  type DeployItem,
  deployItemKind,
  RETRIED_CONDITION,
} from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn } from '../../../../workflows/landscaper/deploy-item/handled-types.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { fieldManagerOf } from '../../../kube/managed-fields.ts'
import { readObject } from '../../../kube/read-family.ts'
import { targetView } from '../../../kube/object-views.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import { writeAll } from '../../../kube/write.ts'
import { hasRequest, removeRequest } from '../../../run/children.ts'
import { type DeployItemView, deployItemView } from '../../deploy-item-view.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { RETRY } from '../../requests.ts'
import { NO_TRUST, type Trust, whoAnnotated } from '../../trust.ts'
import type { Observer } from './observe.ts'

export interface ForgetRetryInput extends Observer {
  readonly jobID: string
  /** The version of the item in the pass. */
  readonly version: string
  /** The type of the item. */
  readonly type?: string
}

export const retryActivities = (deps: LandscaperDeps) => ({
  /**
   * Writes the requesting user into the status of an item whose own job has started, and removes the request. Idempotent.
   *
   * @returns the current item; undefined when it is deleted or has another job.
   * @throws retryable failures of the API server and the journal.
   */
  async forgetRetry(input: ForgetRetryInput): Promise<DeployItemView | undefined> {
    const { by, subject, jobID, type = '' } = input
    // Other deployers would never remove the condition again.
    const version = isTypeBuiltIn(type) ? await recordUser(deps, input) : input.version
    const isMeant = (current: KubeObject) => targetView(current).jobID === jobID
    const write = removeRequest({ ...subject, watched: deployItemKind, version }, RETRY, isMeant)
    const [answer] = await writeAll(deps, { ...by, step: 'forgetRetry', fieldManager: fieldManagerOf(by) }, [write])
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' ? deployItemView(answer.object, by, deps) : undefined
  },
})

/** @returns the version of the item with the condition. */
async function recordUser(deps: LandscaperDeps, { by, subject, jobID, version }: ForgetRetryInput): Promise<string> {
  const { uid, namespace, name } = subject
  const trust = (await deps.landscaper.trust?.()) ?? NO_TRUST
  const now = deps.now().toISOString()
  const patchOf = (current: DeployItem): Patch | 'superseded' =>
    current.metadata.uid === uid && targetView(current).jobID === jobID && hasRequest(current, RETRY)
      ? retryCondition(current, trust, now)
      : 'superseded'
  const found = await readObject(deps, deployItemKind, namespace, name)
  const patch = found === undefined ? 'superseded' : patchOf(found)
  if (found === undefined || typeof patch === 'string') return version
  const seen = found.metadata.resourceVersion
  const [answer] = await writeAll(deps, { ...by, step: 'forgetRetry', fieldManager: fieldManagerOf(by) }, [
    { verb: 'patchStatus', watched: deployItemKind, namespace, name, version: seen, patch, reapply: patchOf },
  ])
  if (answer?.result === 'failed') throw answer.error
  return answer?.result === 'ok' ? answer.object.metadata.resourceVersion : version
}

function retryCondition(item: DeployItem, trust: Trust, now: string): Patch {
  const { by, since } = whoAnnotated(item, OPERATION_ANNOTATION, { what: 'retry', trust, value: RETRY.value })
  const message = `a separate job, requested by ${by}${since === undefined ? '' : ` since ${since}`}`
  const before: readonly Condition[] = item.status?.conditions ?? []
  const { generation: observedGeneration } = item.metadata
  const change = { type: RETRIED_CONDITION, status: 'True', reason: 'RetriedByAnnotation', message } as const
  return { status: { conditions: setCondition(before, { ...change, observedGeneration }, now) } }
}
