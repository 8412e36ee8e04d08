// The writes of a deployer to its deploy items: the status, and at the end the removal of the finalizer.
//
//   W1. Each write is conditional on the item's resourceVersion. After a conflict, `reapply` decides with the current
//       item (activities/kube/write.ts).
//   W2. After a conflict, a status is written only if the item still has the job of this write, or can still start it.

import { DEPLOY_CONTROLLER, FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isTypeBuiltIn, isTypeHandled } from '../../../../workflows/landscaper/deploy-item/handled-types.ts'
import type { By } from '../../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { recordWarning } from '../../../kube/events.ts'
import { controllerOf } from '../../../run/controllers.ts'
import { finalizerPatch } from '../../../run/finalize.ts'
import { isDeletedWithoutFinalizers, targetView } from '../../../kube/object-views.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import type { Write, WriteAnswer } from '../../../kube/write.ts'
import { asFirstWrite } from './begin-job.ts'
import type { ItemAct } from './deployer.ts'
import { endedStatus, isUnchanged, type ItemJob, itemStatus, timeoutProblem, unchangedStatus } from './item-status.ts'
import { withoutUninstall } from '../../requests.ts'
import { hasJob } from './item-watch.ts'

export type ItemWrite = Write<typeof deployItemKind>

export type ItemAnswer = WriteAnswer<typeof deployItemKind>

/** Removes Pawl's finalizer. If the finalizer is missing after a conflict, the repeated patch changes nothing. */
export function releaseWrite(object: DeployItem): ItemWrite {
  return {
    verb: 'patch',
    ...at(object),
    patch: finalizerPatch(FINALIZER, object.metadata.finalizers ?? [], false),
    reapply: ({ metadata }) =>
      metadata.uid === object.metadata.uid ? finalizerPatch(FINALIZER, metadata.finalizers ?? [], false) : 'superseded',
  }
}

/**
 * Writes a status of the item's job. The first write of a hosted job also contains the fields of its start (`begins`,
 * begin-job.ts).
 *
 * @param remembered the provider status, which lists the deployed objects. If another process has ended the job
 * meanwhile (an interrupt), only this part of the status is written, so that a later uninstallation knows the objects.
 */
export function statusWrite({ object, jobID, begins }: ItemJob, patch: Patch, remembered?: Patch): ItemWrite {
  const first = begins === undefined ? patch : asFirstWrite(begins, patch)
  return {
    verb: 'patchStatus',
    ...at(object),
    patch: first,
    reapply: (current) => {
      // The view of the current item: its job ID and finished job ID.
      const status = targetView(current)
      if (current.metadata.uid !== object.metadata.uid) return 'superseded'
      // The job of this write can still start if the item has its previous job, and that job is finished.
      if (status.jobID !== jobID) return hasJob(current, { object, jobID, begins }) ? first : 'superseded'
      if (status.jobIDFinished !== jobID) return patch
      return remembered === undefined ? 'done' : { status: remembered }
    },
  }
}

function at({ metadata }: DeployItem) {
  const { name, namespace, resourceVersion: version } = metadata
  return { watched: deployItemKind, namespace, name, version }
}

/**
 * Decides whether the job needs no deployer: a user requests a deletion without uninstallation, an item with
 * `updateOnChangeOnly` has succeeded with this spec, or the timeout is invalid.
 *
 * @returns the status that ends the job; 'release' if the caller only has to remove finalizers, also from
 * Targets; undefined if the job needs a deployer.
 */
export function writeWithoutDeployer(job: ItemJob, act: ItemAct): ItemWrite | 'release' | undefined {
  if (act === 'uninstall') return withoutUninstall(job.object) ? 'release' : undefined
  if (isUnchanged(job)) return statusWrite(job, unchangedStatus(job))
  const problem = timeoutProblem(job.object)
  if (problem === undefined) return undefined
  const error = { operation: 'Reconcile', reason: 'InvalidConfiguration', message: problem }
  return statusWrite(job, endedStatus(job, 'Failed', {}, { ...error, codes: ['ERR_CONFIGURATION_PROBLEM'] }))
}

/** A job that writes its items. */
export interface ItemWriter {
  readonly by: By
  readonly jobID: string
  /** The time that the statuses of these writes contain. */
  readonly now: Date
}

/**
 * Reports the answer to a write of an item: counts the end of the item's job, and records a Warning Event for the `lastError` that the item has after a
 * successful write, whether or not this write added the error. The same error in the same job is one Event.
 */
export async function reportWrite(deps: LandscaperDeps, writer: ItemWriter, answer: ItemAnswer): Promise<void> {
  if (answer.result !== 'ok' || !answer.wrote) return
  countEnd(deps, writer, answer.object)
  const { lastError } = itemStatus(answer)
  if (lastError === undefined) return
  const { name, namespace, uid } = answer.object.metadata
  await recordWarning(
    deps,
    { apiVersion: deployItemKind.apiVersion, kind: deployItemKind.kind, namespace, name, uid },
    writer.jobID,
    lastError,
  )
}

/** Counts the end of a hosted job. Jobs with their own run are counted when the run closes its row in the journal (run/settle.ts). */
export function countEnd(
  { runMetrics }: Pick<LandscaperDeps, 'runMetrics'>,
  writer: ItemWriter,
  object: DeployItem,
): void {
  const { type } = object.spec
  const hasOwnRun =
    controllerOf({ workflowID: writer.by.workflowID }) === DEPLOY_CONTROLLER ||
    (isTypeBuiltIn(type) && !isTypeHandled(type, writer.by))
  const outcome = endWrittenBy(writer, object)
  if (!hasOwnRun && outcome !== undefined) runMetrics?.jobEnded(DEPLOY_CONTROLLER, outcome)
}

/** The outcome of the job that the write ended; undefined if the job continues, or if an earlier write ended it. */
function endWrittenBy({ jobID, now }: ItemWriter, object: DeployItem): string | undefined {
  if (isDeletedWithoutFinalizers(object)) return 'Deleted'
  const { phase, jobIDFinished, transitionTimes } = itemStatus({ object })
  return jobIDFinished === jobID && transitionTimes?.finishedTime === now.toISOString() ? phase : undefined
}
