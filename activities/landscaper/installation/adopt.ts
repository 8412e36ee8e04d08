// The second write of a job: removes the request annotation, and adds finalizer and defaults. Source: docs/architecture.md "A root's new job".
//
//   A1. The annotation is removed only while the spec has the generation that the first write observed; an annotation that came with a newer spec
//       starts the next job.
//   A2. An interrupt that exists before the first write was meant for an earlier job. It is removed if one call makes both writes. After a crash
//       between the writes, the interrupt may be newer, so it ends the job: requests of users are never lost.

import { FINALIZER, OPERATION_ANNOTATION, RECONCILE_REASON_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import type { Patch } from '../../kube/merge-patch.ts'
import { writeAll } from '../../kube/write.ts'
import { type InstallationView, installationView } from './views.ts'

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
        patch: adoption(target, isFresh),
        reapply: (current) =>
          readopt(current, { uid: subject.uid, jobID, isFresh: isFresh && target.interruptRequested }),
      },
    ])
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' ? installationView(answer.object, await deps.landscaper.trust?.()) : undefined
  },
})

interface Adopted {
  readonly uid: string
  readonly jobID: string
  readonly isFresh: boolean
}

function readopt(current: Installation, { uid, jobID, isFresh }: Adopted): Patch | 'done' | 'superseded' {
  const view = installationView(current)
  // A late call finds a later phase; the annotation then belongs to the next job.
  const isBeginning = view.phase === 'Init' || view.phase === 'InitDelete'
  if (current.metadata.uid !== uid || view.jobID !== jobID || !isBeginning) return 'superseded'
  return isToBeAdopted(view, isFresh) ? adoption(view, isFresh) : 'done'
}

/** Whether the job has to change metadata or spec when it begins. */
export function isToBeAdopted(target: InstallationView, isFresh: boolean): boolean {
  return Object.keys(adoption(target, isFresh)).length > 0
}

function adoption(target: InstallationView, isFresh: boolean): Patch {
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
