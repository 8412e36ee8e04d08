// The activity that adds and removes the finalizer of a controller. Each plan has a step that adds it before the first create, and a step that removes it
// after the last object is gone.

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
  /** The version and the finalizers that the pass observed. */
  readonly version: string
  readonly finalizers: readonly string[]
  /** True: add the finalizer. The name is part of recorded histories. */
  readonly guarded: boolean
}

export const finalizeActivities = (deps: Deps, beforeRelease: BeforeRelease = {}) => ({
  /**
   * Adds the controller's finalizer to the subject (`guarded`) or removes it. Idempotent.
   *
   * @returns the current target; undefined if the object does not exist.
   * @throws retryable failures of the API server.
   */
  async guardSubject({ by, subject, version, finalizers, guarded }: FinalizeInput): Promise<TargetView | undefined> {
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

/** The patch after a conflict, for the current object. */
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
