// Starts an Installation's job: observes it and makes the job's first two writes, status and then metadata. A crash between the two requests must
// lead to exactly one job: the first write claims the job, the second is repeated until it succeeds. Source: docs/concepts/architecture.md "A root's new job".

import { type NewJobTarget, type By, isIdle, type Subject } from '../../../workflows/kit/index.ts'
import { beginActivities } from '../../run/begin-job.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type InstallationObservation, observeActivities } from './observe.ts'
import { type InstallationView, installationView } from './views.ts'
import { FINALIZER, OPERATION_ANNOTATION, RECONCILE_REASON_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { writeAll } from '../../kube/write.ts'
import type { Patch } from '../../kube/merge-patch.ts'

export interface StartInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  /** From the run's input; the job begins on this state without a read. */
  readonly asked?: NewJobTarget | undefined
}

export interface StartedInstallation extends InstallationObservation {
  /**
   * `begun`: both writes succeeded, and `target` is their result. `superseded`: the object or another run was newer. Undefined: the job had already
   * begun, or no job is requested.
   */
  readonly start: 'begun' | 'superseded' | undefined
}

export const startActivities = (deps: LandscaperDeps) => {
  const act = { ...observeActivities(deps), ...beginActivities(deps), ...adoptActivities(deps) }

  async function begin(input: StartInput, target: InstallationView): Promise<InstallationView | undefined> {
    const startedTarget = await act.beginJob({ ...input, target })
    if (startedTarget === undefined) return undefined
    const own = { ...target, ...startedTarget, lastError: startedTarget.lastError }
    return needsAdoption(own, true) ? await act.adoptInstallation({ ...input, target: own, isFresh: true }) : own
  }

  /** The result of the first write contains the whole object, so the observation need not read it. */
  async function beginWithoutRead(input: StartInput, asked: NewJobTarget): Promise<StartedInstallation> {
    const { by, subject, jobID } = input
    const startedTarget = await act.beginJob({ ...input, target: asked })
    const seen = await act.observeInstallation({ by, subject, known: {} })
    if (startedTarget === undefined) return { ...seen, start: 'superseded' }
    const { target } = seen
    // The first step handles a job that an earlier attempt began, or that others have changed.
    if (!startedTarget.wrote || target?.jobID !== jobID) return { ...seen, start: undefined }
    const adopted = needsAdoption(target, true)
      ? await act.adoptInstallation({ ...input, target, isFresh: true })
      : target
    return adopted === undefined ? { ...seen, start: 'superseded' } : { ...seen, target: adopted, start: 'begun' }
  }

  return {
    /**
     * Observes an Installation like `observeInstallation`, and begins this job if the Installation is idle and requests one.
     *
     * @throws as `observeInstallation` and `beginJob`.
     */
    async startInstallation({ asked, ...input }: StartInput): Promise<StartedInstallation> {
      const { by, subject, jobID } = input
      if (asked !== undefined) return await beginWithoutRead(input, asked)
      const seen = await act.observeInstallation({ by, subject, known: {} })
      const { target } = seen
      const isAsked = target?.jobID !== jobID && target?.trigger !== undefined && isIdle(target)
      if (!isAsked) return { ...seen, start: undefined }
      const startedTarget = await begin(input, target)
      return startedTarget === undefined
        ? { ...seen, start: 'superseded' }
        : { ...seen, target: startedTarget, start: 'begun' }
    },
  }
}

// The second write of a job: removes the request annotation, and adds finalizer and defaults. Source: docs/concepts/architecture.md "A root's new job".
//
//   A1. The annotation is removed only while the spec has the generation that the first write observed; an annotation that came with a newer spec
//       starts the next job.
//   A2. An interrupt that exists before the first write was meant for an earlier job. It is removed if one call makes both writes. After a crash
//       between the writes, the interrupt may be newer, so it ends the job: requests of users are never lost.

export interface AdoptInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly target: InstallationView
  /** The target is the result of the first write of the job. */
  readonly isFresh?: boolean
}

export const adoptActivities = (deps: LandscaperDeps) => ({
  /**
   * Removes the request annotation and adds the finalizer and the default context, in one write. Idempotent.
   *
   * @returns the current target; undefined when the Installation does not exist any more.
   */
  async adoptInstallation({
    by,
    subject,
    jobID,
    target,
    isFresh = false,
  }: AdoptInput): Promise<InstallationView | undefined> {
    const [answer] = await writeAll(deps, { ...by, step: 'adoptInstallation', fieldManager: 'pawl-installation' }, [
      {
        verb: 'patch',
        watched: installationKind,
        namespace: subject.namespace,
        name: subject.name,
        version: target.version,
        patch: adoptionPatch(target, isFresh),
        reapply: (current) =>
          reapplyAdoption(current, { uid: subject.uid, jobID, isFresh: isFresh && target.interruptRequested }),
      },
    ])
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' ? installationView(answer.object, await deps.landscaper.trust?.()) : undefined
  },
})

interface AdoptedJob {
  readonly uid: string
  readonly jobID: string
  readonly isFresh: boolean
}

function reapplyAdoption(current: Installation, { uid, jobID, isFresh }: AdoptedJob): Patch | 'done' | 'superseded' {
  const view = installationView(current)
  // A late call finds a later phase; the annotation then belongs to the next job.
  const isBeginning = view.phase === 'Init' || view.phase === 'InitDelete'
  if (current.metadata.uid !== uid || view.jobID !== jobID || !isBeginning) return 'superseded'
  return needsAdoption(view, isFresh) ? adoptionPatch(view, isFresh) : 'done'
}

/** Whether the job has to change metadata or spec when it begins. */
export function needsAdoption(target: InstallationView, isFresh: boolean): boolean {
  return Object.keys(adoptionPatch(target, isFresh)).length > 0
}

function adoptionPatch(target: InstallationView, isFresh: boolean): Patch {
  const isSameSpec = target.observedGeneration === target.generation
  const annotations =
    (target.interruptRequested && isFresh) || (target.reconcileRequested && isSameSpec)
      ? { [OPERATION_ANNOTATION]: null, [RECONCILE_REASON_ANNOTATION]: null }
      : undefined
  const finalizers =
    target.deleting || target.finalizers.includes(FINALIZER) ? undefined : [...target.finalizers, FINALIZER]
  const metadata = {
    ...(annotations !== undefined && { annotations }),
    ...(finalizers !== undefined && { finalizers }),
  }
  return {
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(!target.hasContext && !target.deleting && { spec: { context: 'default' } }),
  }
}
