// The conditional status write of a pass in job mode.
//
//   S1. The write is idempotent by content. After a conflict the object is read again. If it already has the intended status, the write has succeeded. If
//       it has this job and the observed phase, the status is written on the new version. Otherwise the run is superseded.
//       A job does not end while the spec is newer than the spec that the pass observed: the pass is repeated.
//   S2. Times are added here, because workflows have no clock.

import {
  type By,
  isIdle,
  type JobModeController,
  type SettledTarget,
  type SettleResult,
  type StatusChange,
  type Subject,
  type TargetView,
} from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { resourcePath } from '../kube/resource-path.ts'
import { isNotFound } from '../kube/errors.ts'
import { versionOf } from '../kube/object-cache.ts'
import { recordWarning } from '../kube/events.ts'
import { statusOf, targetView } from '../kube/object-views.ts'
import { fieldManagerOf } from '../kube/managed-fields.ts'
import type { Patch } from '../kube/merge-patch.ts'
import { writeAll } from '../kube/write.ts'
import { jobController } from './controllers.ts'

/** The result of a settle without a write. */
export const NOTHING_WRITTEN: SettleResult = { result: 'settled', target: {}, woken: false }

/** The object and the job whose status is written. */
export interface StatusWrite {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/**
 * Writes the status change of a pass (S1, S2). A fault is also emitted as a Warning Event.
 *
 * @throws retryable failures of the API server; `Invalid` (final) when the server rejects the status.
 */
export async function writeStatus(deps: Deps, input: StatusWrite, change: StatusChange): Promise<SettleResult> {
  const { by, subject, jobID } = input
  const controller = jobController(deps, by)
  const { target: watched, status: shape } = controller
  const before = shape.needsCurrentStatus(change) ? await readCurrent(deps, input, change) : undefined
  if (before === 'gone') return NOTHING_WRITTEN
  const now = deps.now().toISOString()
  const conflict = { hasNewSpec: false }
  const [answer] = await writeAll(deps, { ...by, step: 'settle', fieldManager: fieldManagerOf(by) }, [
    {
      verb: 'patchStatus',
      watched,
      namespace: subject.namespace,
      name: subject.name,
      version: change.version,
      patch: statusPatch(controller, { change, jobID }, before, now),
      reapply(current) {
        const status = targetView(current)
        if (current.metadata.uid !== subject.uid || !isJobOf(status, jobID, change)) return 'superseded'
        if (isAsIntended(status, change, jobID)) return 'done'
        const isObserved = status.phase === change.observedPhase || status.phase === change.phase
        if (!isObserved || status.jobIDFinished === jobID) return 'superseded'
        conflict.hasNewSpec = change.finished && specGeneration(current) > change.specGeneration
        if (conflict.hasNewSpec) return 'superseded'
        return statusPatch(controller, { change, jobID }, current, now)
      },
    },
  ])
  switch (answer?.result) {
    case 'ok':
      // Emitted together with the write, so a repeated settle emits nothing.
      if (change.lastError !== undefined && answer.wrote)
        await recordWarning(deps, { ...subject, apiVersion: watched.apiVersion }, jobID, change.lastError)
      return { result: 'settled', target: settledTarget(answer.object), woken: false }
    case 'superseded':
      return { result: conflict.hasNewSpec ? 'overtaken' : 'superseded' }
    case 'failed':
      throw answer.error
    case 'gone':
    case undefined:
      return NOTHING_WRITTEN
  }
}

/** Whether the object has the job; if this write begins the job, whether it still has the previous, finished job. */
function isJobOf(status: TargetView, jobID: string, { begins }: StatusChange): boolean {
  if (status.jobID === jobID) return true
  return begins !== undefined && status.jobID === begins.before && isIdle(status)
}

function specGeneration({ metadata: { generation = 0, deletionTimestamp } }: KubeObject): number {
  return generation - (deletionTimestamp === undefined ? 0 : 1)
}

function isAsIntended(status: TargetView, change: StatusChange, jobID: string): boolean {
  if (status.jobID !== jobID) return false
  const hasNoFields = change.conditions.length === 0 && Object.keys(change.fields).length === 0
  const isFinished = change.finished && status.jobIDFinished === jobID
  if (status.phase !== change.phase || (change.finished && !isFinished)) return false
  // The end of a job is one write, so its other fields are written too.
  return isFinished || (hasNoFields && status.lastError?.message === change.lastError?.message)
}

/** Returns the cached object if it is not older than the pass's version. If the server has a newer one, the write conflicts and is repeated on it. */
async function readCurrent(deps: Deps, write: StatusWrite, { version }: StatusChange): Promise<KubeObject | 'gone'> {
  const known = deps.objects.get(write.subject.uid)
  return known !== undefined && versionOf(known) >= Number(version) ? known : await read(deps, write)
}

async function read(deps: Deps, { by, subject }: StatusWrite): Promise<KubeObject | 'gone'> {
  try {
    return await deps.kube.request<KubeObject>(
      'GET',
      resourcePath(jobController(deps, by).target, subject.namespace, subject.name),
    )
  } catch (error) {
    if (isNotFound(error)) return 'gone'
    throw error
  }
}

function statusPatch(
  { status }: JobModeController,
  { change, jobID }: { readonly change: StatusChange; readonly jobID: string },
  before: KubeObject | undefined,
  now: string,
): Patch {
  return {
    status: {
      ...change.fields,
      phase: change.phase,
      observedGeneration: change.observedGeneration,
      ...status.onSettle(change, before && statusOf(before), now),
      ...(change.begins !== undefined && { jobID }),
      ...(change.finished && { jobIDFinished: jobID }),
    },
  }
}

function settledTarget(object: KubeObject): SettledTarget {
  const { version, phase, jobIDFinished, observedGeneration, lastError } = targetView(object)
  return { version, phase, jobIDFinished, observedGeneration, lastError }
}
