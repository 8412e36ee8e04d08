// The first write of a job that its subject starts itself: the job ID and the first phase, fenced, so that exactly one run has the job.
// Source: docs/architecture.md "A root's new job".
//
//   N1. Whatever the server does not say, the write holds a workflow task for some seconds, and no longer: the next pass comes by its back-off.

import type {
  AskingTarget,
  By,
  JobModeController,
  StatusFields,
  Subject,
  TargetView,
} from '../../workflows/kit/index.ts'
import { isIdle } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { isFinal, laterFailure } from '../kube/errors.ts'
import { hurried, type Patience } from '../kube/hurried-client.ts'
import { targetView } from '../kube/views.ts'
import { fieldManagerOf } from '../kube/field-manager.ts'
import { type Patch, writeAll } from '../kube/write.ts'
import { jobController } from './controllers.ts'
import { LONG_MS } from './rest.ts'

export interface BeginInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** What the pass observed, idle and triggered; or what the run was started for. */
  readonly target: AskingTarget
}

export interface BegunTarget extends TargetView {
  /** False: an earlier try of it did. */
  readonly wrote: boolean
}

// N1. Longer than the API server waits for a webhook by default.
const PATIENCE: Patience = { requestMs: 12_000, totalMs: 20_000 }

export const beginActivities = (lasting: Deps, patience: Patience = PATIENCE) => ({
  /**
   * Writes job ID and first phase, on the version that the pass observed. After a conflict it goes on only if the job ID is ours already,
   * or the object is still idle and triggered.
   *
   * @returns the target as it is now, and whether this write began the job; undefined when another run has the job or the object is gone.
   * @throws failures of the API server; one that took long is not tried again within the task.
   */
  async beginJob({ by, subject, jobID, target }: BeginInput): Promise<BegunTarget | undefined> {
    const begunAt = performance.now()
    const deps = { ...lasting, kube: hurried(lasting.kube, patience) }
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
        reapply: (current) => rebegin(current, { uid: subject.uid, jobID, before: target.jobID, controller }, now),
      },
    ])
    if (answer?.result === 'failed') {
      const { error } = answer
      throw performance.now() - begunAt > LONG_MS && !isFinal(error) ? laterFailure(error) : error
    }
    return answer?.result === 'ok' ? { ...targetView(answer.object), wrote: answer.wrote } : undefined
  },
})

interface Beginning {
  readonly uid: string
  readonly jobID: string
  /** The job that the pass observed. */
  readonly before: string | undefined
  readonly controller: JobModeController
}

function rebegin(
  current: KubeObject,
  { uid, jobID, before, controller }: Beginning,
  now: string,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== uid) return 'superseded'
  const { jobID: found, jobIDFinished } = targetView(current)
  if (found === jobID) return 'done'
  // Whoever began without an owner has none: it was looked for when the run was started.
  const wanted = controller.wantedRun(current, true)
  // A job that came and went meanwhile may have been this one: another trigger needs another ID.
  const isAsked = 'jobID' in wanted && wanted.jobID === undefined && wanted.isJobless !== true
  return found === before && isIdle({ jobID: found, jobIDFinished }) && isAsked
    ? firstStatus(controller, { ...targetView(current), begun: wanted.begun?.(now) }, jobID, now)
    : 'superseded'
}

function firstStatus(
  { status }: JobModeController,
  {
    generation,
    deleting,
    begun,
  }: Pick<TargetView, 'generation' | 'deleting'> & { readonly begun?: StatusFields | undefined },
  jobID: string,
  now: string,
): Patch {
  const phase = status.first(deleting)
  const said = status.begun(now, { phase, generation })
  return { status: { jobID, phase, observedGeneration: generation, ...said, ...begun } }
}
