// The second write of a job: the request is taken off, finalizer and defaults are put in. Source: docs/architecture.md "A root's new job".
//
//   A1. The annotation is removed only while the spec is the one that the first write saw; one that came with a newer spec is the next job's.
//   A2. An interrupt that is there at the first write was meant for an earlier job. It goes where both writes are made by one call; one that is found
//       after a crash between them may have come since, and ends the job: what a person asks for is never lost.

import { FINALIZER, OPERATION_ANNOTATION, RECONCILE_REASON_ANNOTATION } from '../../../workflows/landscaper/contract.ts'
import { type Installation, installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { By, Subject } from '../../../workflows/kit/index.ts'
import type { LandscaperDeps } from '../deps.ts'
import { type Patch, writeAll } from '../../kube/write.ts'
import { type InstallationView, installationView } from './views.ts'

export interface AdoptInput {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
  readonly target: InstallationView
  /** The target is as the first write of the job has left it. */
  readonly isFresh?: boolean
}

export const adoptActivities = (deps: LandscaperDeps) => ({
  /**
   * Removes the annotation of the request and puts in the finalizer and the default context, in one write. Idempotent.
   *
   * @returns the target as it is now; undefined when the Installation is gone.
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
  // Whoever comes late finds a later phase; the annotation is then the next job's.
  const isBeginning = view.phase === 'Init' || view.phase === 'InitDelete'
  if (current.metadata.uid !== uid || view.jobID !== jobID || !isBeginning) return 'superseded'
  return isToBeAdopted(view, isFresh) ? adoption(view, isFresh) : 'done'
}

/** Whether there is anything to put right when the job begins. */
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
