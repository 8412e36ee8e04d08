// The writes of a deployer to its items: the status, and at the end the finalizer. Both are fenced by version, and the status by the job.

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { LandscaperDeps } from '../../deps.ts'
import { recordWarning } from '../../../kube/events.ts'
import { finalizerPatch } from '../../../run/finalize.ts'
import { targetView } from '../../../kube/object-views.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import type { Write, WriteAnswer } from '../../../kube/write.ts'
import { asFirstWrite } from './begin-job.ts'
import type { ItemAct } from './deployer.ts'
import { endedStatus, isUnchanged, type ItemJob, itemStatus, timeoutProblem, unchangedStatus } from './item-status.ts'
import { withoutUninstall } from '../../requests.ts'
import { hasJob } from './item-watch.ts'

export type ItemWrite = Write<typeof deployItemKind>

export type ItemAnswer = WriteAnswer<typeof deployItemKind>

/** Removes Pawl's finalizer. */
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
 * Writes a status of the item's job. If another process has ended the job meanwhile (an interrupt), only `remembered` is written, so that the deployed
 * objects stay known.
 */
export function statusWrite({ object, jobID, begins }: ItemJob, patch: Patch, remembered?: Patch): ItemWrite {
  const first = begins === undefined ? patch : asFirstWrite(begins, patch)
  return {
    verb: 'patchStatus',
    ...at(object),
    patch: first,
    reapply: (current) => {
      const status = targetView(current)
      if (current.metadata.uid !== object.metadata.uid) return 'superseded'
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

/** The write, or the release, of an item that needs no deployer; undefined if it needs one. */
export function writeWithoutDeployer(job: ItemJob, act: ItemAct): ItemWrite | 'release' | undefined {
  if (act === 'uninstall') return withoutUninstall(job.object) ? 'release' : undefined
  if (isUnchanged(job)) return statusWrite(job, unchangedStatus(job))
  const problem = timeoutProblem(job.object)
  if (problem === undefined) return undefined
  const error = { operation: 'Reconcile', reason: 'InvalidConfiguration', message: problem }
  return statusWrite(job, endedStatus(job, 'Failed', {}, { ...error, codes: ['ERR_CONFIGURATION_PROBLEM'] }))
}

/** Records a Warning Event for an error that this write added to the item. */
export async function warnOfError(deps: LandscaperDeps, jobID: string, answer: ItemAnswer): Promise<void> {
  if (answer.result !== 'ok' || !answer.wrote) return
  const { lastError } = itemStatus(answer)
  if (lastError === undefined) return
  const { name, namespace, uid } = answer.object.metadata
  await recordWarning(
    deps,
    { apiVersion: deployItemKind.apiVersion, kind: deployItemKind.kind, namespace, name, uid },
    jobID,
    lastError,
  )
}
