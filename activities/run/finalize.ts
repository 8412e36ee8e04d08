// The finalizer: put on before anything is created, taken off when nothing is left. A step of its own in every plan.

import type { By, Subject, TargetView } from '../../workflows/kit/index.ts'
import type { BeforeRelease, Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { isReleased, targetView } from '../kube/views.ts'
import { fieldManagerOf } from '../kube/field-manager.ts'
import { type Patch, writeAll } from '../kube/write.ts'
import { controllerOf, jobController } from './controllers.ts'

export interface FinalizeInput {
  readonly by: By
  readonly subject: Subject
  /** The version and the finalizers that the pass observed. */
  readonly version: string
  readonly finalizers: readonly string[]
  readonly guarded: boolean
}

export const finalizeActivities = (deps: Deps, beforeRelease: BeforeRelease = {}) => ({
  /**
   * Puts the controller's finalizer on the subject (`guarded`) or takes it off. Idempotent.
   *
   * @returns the target as it is now; undefined when the object is gone.
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
          reapply: (current) => reguard(current, subject.uid, finalizer, guarded),
        },
      ],
    )
    if (answer?.result === 'failed') throw answer.error
    return answer?.result === 'ok' && !isReleased(answer.object) ? targetView(answer.object) : undefined
  },
})

/** The list is replaced whole by a merge patch, so it is safe only on the version it was read with. */
export function finalizerPatch(finalizer: string, finalizers: readonly string[], guarded: boolean): Patch {
  const others = finalizers.filter((one) => one !== finalizer)
  return { metadata: { finalizers: guarded ? [...others, finalizer] : others } }
}

/** The patch for an object that was changed meanwhile. */
export function reguard(
  current: KubeObject,
  uid: string,
  finalizer: string,
  guarded: boolean,
): Patch | 'done' | 'superseded' {
  if (current.metadata.uid !== uid) return 'superseded'
  const finalizers = current.metadata.finalizers ?? []
  return finalizers.includes(finalizer) === guarded ? 'done' : finalizerPatch(finalizer, finalizers, guarded)
}
