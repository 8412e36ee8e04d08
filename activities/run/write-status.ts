// The one conditional status write of a pass of a job.
//
//   S1. Idempotent by content: on a conflict the object is read again; if it is as intended, that is success; if the job is ours
//       and the phase still the observed one, it is written on the new version; else the run is superseded.
//       A job never ends over an edit of the spec that its pass has not seen: the pass is made again on what is there.
//   S2. Times are stamped here, because workflows have no clock.

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
import { statusOf, targetView } from '../kube/views.ts'
import { fieldManagerOf } from '../kube/field-manager.ts'
import { type Patch, writeAll } from '../kube/write.ts'
import { jobController } from './controllers.ts'

/** Nothing was written. */
export const settledAsIs: SettleResult = { result: 'settled', target: {}, woken: false }

/** Whose status, in which job. */
export interface StatusWrite {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/**
 * Writes what a pass says of the status (S1, S2); a fault is a Warning on the object, too.
 *
 * @throws retryable failures of the API server; `Invalid` (final) when it refuses the status.
 */
export async function writeStatus(deps: Deps, input: StatusWrite, change: StatusChange): Promise<SettleResult> {
  const { by, subject, jobID } = input
  const controller = jobController(deps, by)
  const { target: watched, status: shape } = controller
  const before = shape.needsBefore(change) ? await asItIs(deps, input, change) : undefined
  if (before === 'gone') return settledAsIs
  const now = deps.now().toISOString()
  const met = { edit: false }
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
        met.edit = change.finished && specGeneration(current) > change.specGeneration
        if (met.edit) return 'superseded'
        return statusPatch(controller, { change, jobID }, current, now)
      },
    },
  ])
  switch (answer?.result) {
    case 'ok':
      // Told with the write, not again when a settle is repeated.
      if (change.lastError !== undefined && answer.wrote)
        await recordWarning(deps, { ...subject, apiVersion: watched.apiVersion }, jobID, change.lastError)
      return { result: 'settled', target: settledTarget(answer.object), woken: false }
    case 'superseded':
      return { result: met.edit ? 'overtaken' : 'superseded' }
    case 'failed':
      throw answer.error
    case 'gone':
    case undefined:
      return settledAsIs
  }
}

/** The job is there, or the one before it still is, and over, where this write begins the job. */
function isJobOf(status: TargetView, jobID: string, { begins }: StatusChange): boolean {
  if (status.jobID === jobID) return true
  return begins !== undefined && status.jobID === begins.before && isIdle(status)
}

function specGeneration({ metadata: { generation = 0, deletionTimestamp } }: KubeObject): number {
  return generation - (deletionTimestamp === undefined ? 0 : 1)
}

function isAsIntended(status: TargetView, change: StatusChange, jobID: string): boolean {
  if (status.jobID !== jobID) return false
  const isSaid = change.conditions.length === 0 && Object.keys(change.fields).length === 0
  const isFinished = change.finished && status.jobIDFinished === jobID
  if (status.phase !== change.phase || (change.finished && !isFinished)) return false
  // The end of a job is one write, so what belongs to it is there too.
  return isFinished || (isSaid && status.lastError?.message === change.lastError?.message)
}

/** As this process knows it, where that is not older than what the pass knows: on a newer one the write conflicts, and is made for what is there then. */
async function asItIs(deps: Deps, write: StatusWrite, { version }: StatusChange): Promise<KubeObject | 'gone'> {
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
      ...status.settled(change, before && statusOf(before), now),
      ...(change.begins !== undefined && { jobID }),
      ...(change.finished && { jobIDFinished: jobID }),
    },
  }
}

function settledTarget(object: KubeObject): SettledTarget {
  const { version, phase, jobIDFinished, observedGeneration, lastError } = targetView(object)
  return { version, phase, jobIDFinished, observedGeneration, lastError }
}
