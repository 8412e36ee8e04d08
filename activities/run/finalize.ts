// The activity that adds and removes the finalizer of a job-mode controller on its subject, the object that a run
// reconciles. The controllers add it before their first create, and remove it after the last created object is gone.

import type { By, Subject, TargetView } from '../../workflows/kit/index.ts'
import type { BeforeRelease, Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { isDeletedWithoutFinalizers, targetView } from '../kube/object-views.ts'
import { fieldManagerOf } from '../kube/managed-fields.ts'
import type { Patch } from '../kube/merge-patch.ts'
import { writeAll } from '../kube/write.ts'
import { controllerOf, jobController } from './controllers.ts'

export interface FinalizeInput {
  readonly by: By
  readonly subject: Subject
  /** The resourceVersion and the finalizers that the pass observed. */
  readonly version: string
  readonly finalizers: readonly string[]
  /** True: add the finalizer; false: remove it. The name is part of recorded workflow histories. */
  readonly guarded: boolean
}

export const finalizeActivities = (deps: Deps, beforeRelease: BeforeRelease = {}) => ({
  /**
   * Adds the controller's finalizer to the subject (`guarded`) or removes it. Idempotent: each attempt of a removal
   * also calls the `beforeRelease` hook of the controller's wing first.
   *
   * @returns the current subject; undefined if it does not exist any more: it is deleted, also by the removal of its
   * last finalizer, or another object has its name.
   * @throws errors of the API server and of the hook; the finalizer is unchanged after an error of the hook.
   */
  async guardSubject({ by, subject, version, finalizers, guarded }: FinalizeInput): Promise<TargetView | undefined> {
    // `status` is the controller's declaration for its kind (JobStatus), not the status of an object.
    const {
      target: watched,
      status: { finalizer },
    } = jobController(deps, by)
    if (!guarded) await beforeRelease[controllerOf(by)]?.({ by, subject })
    const [answer] = await writeAll(
      deps,
      { ...by, step: guarded ? 'addFinalizer' : 'removeFinalizer', fieldManager: fieldManagerOf(by) },
      [
        {
          verb: 'patch',
          watched,
          namespace: subject.namespace,
          name: subject.name,
          version,
          patch: finalizerPatch(finalizer, finalizers, guarded),
          reapply: (current) => finalizerPatchAfterConflict(current, subject.uid, finalizer, guarded),
        },
      ],
    )
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' && !isDeletedWithoutFinalizers(answer.object) ? targetView(answer.object) : undefined
  },
})

/** A merge patch replaces the whole list, so the patch is safe only on the version from which `finalizers` was read. */
export function finalizerPatch(finalizer: string, finalizers: readonly string[], guarded: boolean): Patch {
  const others = finalizers.filter((one) => one !== finalizer)
  return { metadata: { finalizers: guarded ? [...others, finalizer] : others } }
}

/** The patch for the current object after a conflict; 'superseded' if another object (uid) has the name. */
export function finalizerPatchAfterConflict(
  current: KubeObject,
  uid: string,
  finalizer: string,
  guarded: boolean,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== uid) return 'superseded'
  const finalizers = current.metadata.finalizers ?? []
  return finalizers.includes(finalizer) === guarded ? 'done' : finalizerPatch(finalizer, finalizers, guarded)
}
