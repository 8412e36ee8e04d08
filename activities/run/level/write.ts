// The write activities of controllers in level mode: apply, create, patch, delete, Events, and the target's finalizer and status.
//
//   W1. A conflict reads the object again and applies the same fields again. Only a deletion is not repeated: the pass has to observe again.
//   W2. Fields that already have their values are not written.
//   W3. A field that the kind does not have is a fault. The API server would drop it without an error.

import { type LevelActivities, mergeConditions, type StatusInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { additivePatch, type Patch } from '../../kube/merge-patch.ts'
import { readObject } from '../../kube/read-family.ts'
import { isDeletedWithoutFinalizers, statusOf } from '../../kube/object-views.ts'
import { controllerOf } from '../controllers.ts'
import { apply, create } from './apply.ts'
import { emitEvent } from './event.ts'
import { followedKind, nameOf } from './kinds.ts'
import { readTarget } from './cached-target.ts'
import { patchObserved, release } from './patch.ts'
import { redactObject } from './redact-object.ts'
import { withObject, send, writerOf } from './send.ts'

type WriteActivities = Omit<LevelActivities, 'observeLevel' | 'refreshLevel'>

export const writeActivities = (deps: Deps): WriteActivities => ({
  /**
   * Applies an object that the target owns.
   *
   * @throws `OwnedByAnother`, `NotOwned` (final if a change of the object wakes the subject), `OtherNamespace`, `InvalidName` (final); failures of the API
   *   server.
   */
  async applyLevel(input) {
    return await apply(deps, input)
  },

  /** Creates an object, unless it exists. @throws as `applyLevel`, except errors of ownership. */
  async createLevel(input) {
    return await create(deps, input)
  },

  /** Patches fields of an observed object. @throws `InvalidPatch` (final). */
  async patchLevel(input) {
    return await patchObserved(deps, input)
  },

  /** Removes a finalizer from an observed object. */
  async releaseLevel(input) {
    return await release(deps, input)
  },

  /** Emits an Event. A failed Event is ignored. @throws failures of Temporal if notifications are sent. */
  async eventLevel(input) {
    await emitEvent(deps, input)
  },

  /** Deletes exactly the observed object. @returns 'changed' if it has changed since. */
  async removeLevel({ by, resource, object: { metadata } }) {
    const watched = followedKind(deps, resource)
    const { name, namespace = '', uid, resourceVersion: version } = metadata
    const answer = await send(deps, writerOf(by, 'remove'), {
      verb: 'delete',
      watched,
      namespace,
      name,
      uid,
      version,
      isFenced: true,
    })
    if (answer.result !== 'failed') return 'removed'
    const { error } = answer
    if (error.status !== 409) throw error
    const current = await readObject(deps, watched, namespace, name)
    return current?.metadata.uid === uid ? 'changed' : 'removed'
  },

  /** Adds the controller's finalizer to the target, or removes it. */
  async finalizeLevel({ by, subject, target, version, finalizer, guarded }) {
    const next = (current: KubeObject): Patch | 'done' | 'superseded' => {
      if (current.metadata.uid !== subject.uid) return 'superseded'
      const finalizers = current.metadata.finalizers ?? []
      if (finalizers.includes(finalizer) === guarded) return 'done'
      const others = finalizers.filter((one) => one !== finalizer)
      return { metadata: { finalizers: guarded ? [...others, finalizer] : others } }
    }
    const watched = followedKind(deps, target)
    const { namespace, name } = subject
    const current = await readTarget(deps, { subject, target, version })
    const patch = current === undefined ? 'superseded' : next(current)
    if (current === undefined || patch === 'superseded') return undefined
    if (patch === 'done') return redactObject(current, target)
    const write = { verb: 'patch', watched, namespace, name, patch, reapply: next } as const
    const answer = await send(deps, writerOf(by, guarded ? 'addFinalizer' : 'removeFinalizer'), {
      ...write,
      version: current.metadata.resourceVersion ?? version,
    })
    if (answer.result === 'failed') throw answer.error
    return answer.result === 'ok' && !isDeletedWithoutFinalizers(answer.object)
      ? redactObject(answer.object, target)
      : undefined
  },

  /** Writes fields of the target's status, each as a whole. A missing target is success. */
  async writeLevelStatus(input) {
    return await writeStatus(deps, input)
  },
})

async function writeStatus(deps: Deps, input: StatusInput): Promise<string | undefined> {
  const { by, subject, target, version } = input
  const watched = followedKind(deps, target)
  const { namespace, name } = subject
  const current = await readTarget(deps, { subject, target, version })
  if (current?.metadata.uid !== subject.uid) return undefined
  const patch = statusPatch(input, current)
  if (patch === undefined) return current.metadata.resourceVersion
  const answer = await send(deps, writerOf(by, 'status'), {
    verb: target.statusSubresource === false ? 'patch' : 'patchStatus',
    watched,
    namespace,
    name,
    patch,
    isStrict: true,
    version: current.metadata.resourceVersion ?? version,
    reapply: (found) => (found.metadata.uid === subject.uid ? (statusPatch(input, found) ?? 'done') : 'superseded'),
  })
  if (answer.result === 'ok') {
    heardOf(deps, by, current, answer.object)
    return answer.object.metadata.resourceVersion
  }
  if (answer.result === 'failed') throw withObject(`status of ${nameOf(subject.kind, subject)}`, answer.error)
  if (answer.result !== 'gone') return undefined
  if ((await readObject(deps, watched, namespace, name))?.metadata.uid !== subject.uid) return undefined
  throw finalFailure(
    'NoStatusEndpoint',
    `${nameOf(subject.kind, subject)} : the CRD has no status subresource; add it, or set \`statusSubresource: false\` in the kind of the controller`,
  )
}

function heardOf(deps: Deps, by: StatusInput['by'], before: KubeObject, after: KubeObject): void {
  const controller = controllerOf(by)
  deps.observerOf?.(controller)?.statusWritten?.({ controller, before: statusOf(before), after })
}

/** Replaces each field as a whole; null removes a field. Conditions are merged by type. */
function statusPatch({ status, conditions = [] }: StatusInput, found: KubeObject): Patch | undefined {
  const current = statusOf(found)
  const merged = conditions.length > 0 && { conditions: mergeConditions(current['conditions'], conditions) }
  const wanted: Patch = { ...status, ...merged }
  const own = Object.fromEntries(Object.keys(wanted).map((field) => [field, current[field]]))
  const patch = additivePatch(own, wanted)
  return patch && { status: patch }
}
