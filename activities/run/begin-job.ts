// The activity that begins a job of a subject without a parent: it writes the job ID and the first phase with optimistic locking, so exactly one run gets
// the job. Source: docs/concepts/architecture.md "A root's new job".
//
//   N1. The write occupies a workflow task for at most 20 s, also if the API server does not answer. Then the next pass comes after the back-off.

import {
  type NewJobTarget,
  type By,
  type JobModeController,
  type StatusFields,
  type Subject,
  type TargetView,
  isIdle,
} from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { isFinal, laterFailure } from '../kube/errors.ts'
import { withDeadline, type RequestDeadline } from '../kube/client-with-deadline.ts'
import { targetView } from '../kube/object-views.ts'
import { fieldManagerOf } from '../kube/managed-fields.ts'
import type { Patch } from '../kube/merge-patch.ts'
import { writeAll } from '../kube/write.ts'
import { jobController } from './controllers.ts'
import { SLOW_CALL_MS } from './slow-call-back-off.ts'

export interface BeginInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** The target as the pass observed it, idle and triggered, or as it was when the run was started. */
  readonly target: NewJobTarget
}

export interface BegunTarget extends TargetView {
  /** False: an earlier attempt of this activity wrote the job ID. */
  readonly wrote: boolean
}

// N1. Longer than the API server waits for a webhook by default.
const DEADLINES: RequestDeadline = { requestMs: 12_000, totalMs: 20_000 }

export const beginActivities = (processDeps: Deps, deadlines: RequestDeadline = DEADLINES) => ({
  /**
   * Writes the job ID and the first phase on the version that the pass observed. After a conflict it continues only if the object already has this job
   * ID, or is still idle and triggered.
   *
   * @returns the current target, and whether this attempt wrote the job ID; undefined if another run has the job or the object does not exist.
   * @throws failures of the API server. A failure after more than SLOW_CALL_MS is not retried within the workflow task.
   */
  async beginJob({ by, subject, jobID, target }: BeginInput): Promise<BegunTarget | undefined> {
    const startedAt = performance.now()
    const deps = { ...processDeps, kube: withDeadline(processDeps.kube, deadlines) }
    const now = deps.now().toISOString()
    const controller = jobController(deps, by)
    const [answer] = await writeAll(deps, { ...by, step: 'beginJob', fieldManager: fieldManagerOf(by) }, [
      {
        verb: 'patchStatus',
        watched: controller.target,
        namespace: subject.namespace,
        name: subject.name,
        version: target.version,
        patch: firstStatus(controller, target, jobID, now),
        reapply: (current) =>
          patchAfterConflict(current, { uid: subject.uid, jobID, before: target.jobID, controller }, now),
      },
    ])
    if (answer?.result === 'failed') {
      const { error } = answer
      throw performance.now() - startedAt > SLOW_CALL_MS && !isFinal(error) ? laterFailure(error) : error
    }
    if (answer?.result === 'ok')
      deps.runMetrics?.phaseWritten(by.workflowID, controller.status.firstPhase(target.deleting))
    return answer?.result === 'ok' ? { ...targetView(answer.object), wrote: answer.wrote } : undefined
  },
})

interface Beginning {
  readonly uid: string
  readonly jobID: string
  /** The job ID that the pass observed. */
  readonly before: string | undefined
  readonly controller: JobModeController
}

function patchAfterConflict(
  current: KubeObject,
  { uid, jobID, before, controller }: Beginning,
  now: string,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== uid) return 'superseded'
  const { jobID: found, jobIDFinished } = targetView(current)
  if (found === jobID) return 'done'
  // Only subjects without an owner begin a job this way; the dispatcher checked the owner before it started the run.
  const wanted = controller.requestedRun(current, true)
  // A job that started and ended since the pass may have been this one: a new trigger needs a new job ID.
  const isAsked = 'jobID' in wanted && wanted.jobID === undefined && wanted.isJobless !== true
  return found === before && isIdle({ jobID: found, jobIDFinished }) && isAsked
    ? firstStatus(controller, { ...targetView(current), begun: wanted.onBegin?.(now) }, jobID, now)
    : 'superseded'
}

function firstStatus(
  { status }: JobModeController,
  {
    generation,
    deleting,
    begun: beginFields,
  }: Pick<TargetView, 'generation' | 'deleting'> & { readonly begun?: StatusFields | undefined },
  jobID: string,
  now: string,
): Patch {
  const phase = status.firstPhase(deleting)
  const said = status.onBegin(now, { phase, generation })
  return { status: { jobID, phase, observedGeneration: generation, ...said, ...beginFields } }
}
