// Writes of controllers in level mode: those of apply.ts, patch.ts and event.ts, objects removed, the target's finalizer and status.
//
//   W1. A conflict re-reads and re-applies the fields in question. Deletion alone is not repeated: the pass has to look again.
//   W2. What is so already is not written.
//   W3. A field that the kind does not have is a fault: dropped in silence, it would look written.

import { type LevelActivities, mergeConditions, type StatusInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { additivePatch } from '../../kube/merge.ts'
import { readObject } from '../../kube/read-family.ts'
import { isReleased, statusOf } from '../../kube/views.ts'
import type { Patch } from '../../kube/write.ts'
import { controllerOf } from '../controllers.ts'
import { apply, create } from './apply.ts'
import { tell } from './event.ts'
import { followedKind, nameOf } from './kinds.ts'
import { targetOf } from './known-target.ts'
import { patchObserved, release } from './patch.ts'
import { readable } from './readable.ts'
import { about, send, writerOf } from './send.ts'

type WriteActivities = Omit<LevelActivities, 'observeLevel' | 'refreshLevel'>

export const writeActivities = (deps: Deps): WriteActivities => ({
  /**
   * Makes an object be as given, owned by the target.
   *
   * @throws `OwnedByAnother`, `NotOwned` (final where their end is heard of), `OtherNamespace`, `InvalidName` (final); failures of the API server.
   */
  async applyLevel(input) {
    return await apply(deps, input)
  },

  /** Makes an object, unless there is one. @throws as `applyLevel`, but for what is in the way. */
  async createLevel(input) {
    return await create(deps, input)
  },

  /** Writes fields of an object that was observed. @throws `InvalidPatch` (final). */
  async patchLevel(input) {
    return await patchObserved(deps, input)
  },

  /** Takes a finalizer off an object that was observed. */
  async releaseLevel(input) {
    return await release(deps, input)
  },

  /** Records an event on the target; one that cannot be written changes nothing else. @throws failures of Temporal where somebody is told of it. */
  async eventLevel(input) {
    await tell(deps, input)
  },

  /** Deletes the object that was observed, and no other. @returns 'changed' when it is not as observed. */
  async removeLevel({ by, resource, object: { metadata } }) {
    const watched = followedKind(deps, resource)
    const { name, namespace = '', uid, resourceVersion: version } = metadata
    const answer = await send(deps, writerOf(by, 'remove'), {
      ...{ verb: 'delete', watched, namespace, name, uid, version, isFenced: true },
    })
    if (answer.result !== 'failed') return 'removed'
    const { error } = answer
    if (error.status !== 409) throw error
    const current = await readObject(deps, watched, namespace, name)
    return current?.metadata.uid === uid ? 'changed' : 'removed'
  },

  /** Puts the controller's finalizer on the target, or takes it off. */
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
    const current = await targetOf(deps, { subject, target, version })
    const patch = current === undefined ? 'superseded' : next(current)
    if (current === undefined || patch === 'superseded') return undefined
    if (patch === 'done') return readable(current, target)
    const write = { verb: 'patch', watched, namespace, name, patch, reapply: next } as const
    const answer = await send(deps, writerOf(by, guarded ? 'addFinalizer' : 'removeFinalizer'), {
      ...write,
      version: current.metadata.resourceVersion ?? version,
    })
    if (answer.result === 'failed') throw answer.error
    return answer.result === 'ok' && !isReleased(answer.object) ? readable(answer.object, target) : undefined
  },

  /** Writes fields of the target's status, each as a whole. A target that is gone is success. */
  async writeLevelStatus(input) {
    return await writeStatus(deps, input)
  },
})

async function writeStatus(deps: Deps, input: StatusInput): Promise<string | undefined> {
  const { by, subject, target, version } = input
  const watched = followedKind(deps, target)
  const { namespace, name } = subject
  const current = await targetOf(deps, { subject, target, version })
  const patch = current?.metadata.uid === subject.uid ? statusPatch(input, current) : undefined
  if (current === undefined || patch === undefined) return current?.metadata.resourceVersion
  const answer = await send(deps, writerOf(by, 'status'), {
    ...{ verb: target.statusSubresource === false ? 'patch' : 'patchStatus', watched, namespace, name, patch },
    isStrict: true,
    version: current.metadata.resourceVersion ?? version,
    reapply: (found) => (found.metadata.uid === subject.uid ? (statusPatch(input, found) ?? 'done') : 'superseded'),
  })
  if (answer.result === 'ok') {
    heardOf(deps, by, current, answer.object)
    return answer.object.metadata.resourceVersion
  }
  if (answer.result === 'failed') throw about(`status of ${nameOf(subject.kind, subject)}`, answer.error)
  if (answer.result !== 'gone' || (await readObject(deps, watched, namespace, name)) === undefined) return undefined
  throw finalFailure(
    'NoStatusEndpoint',
    `${nameOf(subject.kind, subject)} has no endpoint for its status; expected one, or \`statusSubresource: false\` in the controller`,
  )
}

function heardOf(deps: Deps, by: StatusInput['by'], before: KubeObject, after: KubeObject): void {
  const controller = controllerOf(by)
  deps.observerOf?.(controller)?.statusWritten?.({ controller, before: statusOf(before), after })
}

/** Each field as a whole: what it lacks now goes, and null removes it. Conditions by their types. */
function statusPatch({ status, conditions = [] }: StatusInput, found: KubeObject): Patch | undefined {
  const current = statusOf(found)
  const merged = conditions.length > 0 && { conditions: mergeConditions(current['conditions'], conditions) }
  const wanted: Patch = { ...status, ...merged }
  const own = Object.fromEntries(Object.keys(wanted).map((field) => [field, current[field]]))
  const patch = additivePatch(own, wanted)
  return patch && { status: patch }
}
