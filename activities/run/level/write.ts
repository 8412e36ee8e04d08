// Writes of controllers in level mode: objects applied and removed, the target's finalizer and status.
//
//   W1. One field manager per controller, `pawl-<name>`, and only fields that the controller mentions: two controllers of one object both win.
//   W2. A conflict re-reads and re-applies those fields, never the whole pass. Deletion alone is not repeated: the pass has to look again.
//   W3. What is so already is not written.
//   W4. Nothing is sent for a pass that does not wait for it any more (cut-off.ts).
//   W5. A field that the kind does not have is a fault: dropped in silence, it would look written.

import {
  type ApplyInput,
  type By,
  isObjectName,
  type LevelActivities,
  type LevelTarget,
  type StatusInput,
  type Subject,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure, KubeError, retryableFailure } from '../../kube/errors.ts'
import { additivePatch } from '../../kube/merge.ts'
import { readObject } from '../../kube/read-family.ts'
import { isReleased, ownerOf, statusOf } from '../../kube/views.ts'
import { fieldManagerOf, type Patch, type Write, type WriteAnswer, writeAll, type Writer } from '../../kube/write.ts'
import { whileWaitedFor } from './cut-off.ts'
import { followedKind, nameOf } from './kinds.ts'
import { readable } from './readable.ts'
import { wantedPatch } from './wanted-patch.ts'

type WriteActivities = Pick<LevelActivities, 'applyLevel' | 'removeLevel' | 'finalizeLevel' | 'writeLevelStatus'>

export const writeActivities = (deps: Deps): WriteActivities => ({
  /**
   * Makes an object be as given, owned by the target.
   *
   * @throws `OwnedByAnother`, `OtherNamespace`, `InvalidName` (final); failures of the API server.
   */
  async applyLevel(input) {
    await apply(deps, input)
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
    const current = await readObject(deps, watched, namespace, name)
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
    await writeStatus(deps, input)
  },
})

/** The same failure with what it is about in front: the path of a create does not tell. */
function about(where: string, error: KubeError): KubeError {
  const { status, reason, retryAfterMs } = error
  return new KubeError(`${where}: ${error.message}`, { status, reason, retryAfterMs, cause: error })
}

function writerOf(by: By, step: string): Writer {
  return { ...by, step, fieldManager: fieldManagerOf(by) }
}

async function send(deps: Deps, writer: Writer, write: Write): Promise<WriteAnswer> {
  const [answer] = await whileWaitedFor((signal) => writeAll(deps, writer, [write], signal))
  // The next step may read what this one wrote, by the journal's newest versions.
  await deps.journal.flush(writer.workflowID)
  return answer ?? { result: 'gone' }
}

// A create that meets an object, a patch that finds it gone: whoever did it twice in a row is left to the next pass.
const TRIES = 3

async function apply(deps: Deps, input: ApplyInput): Promise<void> {
  const { by, subject, resource, object } = input
  const { name } = object.metadata
  const namespace = resource.withoutNamespace === true ? '' : (object.metadata.namespace ?? subject.namespace)
  const where = nameOf(resource.kind, { namespace, name })
  refuse(input, where, namespace)
  const watched = followedKind(deps, resource)
  const isTarget =
    resource.kind === subject.kind && name === subject.name && resource.apiVersion === input.target.apiVersion
  const at = { watched, namespace, name, isStrict: true } as const
  for (let tries = 1; tries <= TRIES; tries++) {
    const current = await readObject(deps, watched, namespace, name)
    const answer =
      current === undefined
        ? await send(deps, writerOf(by, 'apply'), {
            ...at,
            verb: 'create',
            body: bodyOf(input, namespace),
            isOurs: () => false,
          })
        : await merge(deps, input, { at, current, isTarget })
    if (answer === 'done' || answer.result === 'ok') return
    if (answer.result === 'failed') throw about(where, answer.error)
    if (answer.result === 'gone' && current === undefined)
      throw retryableFailure(
        'NotFound',
        `${where} cannot be made; expected the server to have its kind and its namespace`,
      )
  }
  throw retryableFailure('Conflict', `${where} was made and removed by others ${TRIES} times while it was applied`)
}

interface Place {
  readonly at: Pick<Write, 'watched' | 'namespace' | 'name' | 'isStrict'>
  readonly current: KubeObject
  /** Labels and annotations of the target itself: it owns nothing. */
  readonly isTarget: boolean
}

async function merge(deps: Deps, input: ApplyInput, { at, current, isTarget }: Place): Promise<WriteAnswer | 'done'> {
  const patchOf = (found: KubeObject) => applyPatch(input, found, isTarget)
  const patch = patchOf(current)
  if (patch === undefined) return 'done'
  return await send(deps, writerOf(input.by, 'apply'), {
    ...{ ...at, verb: 'patch', version: current.metadata.resourceVersion ?? '', patch },
    reapply: (found) => (found.metadata.uid === current.metadata.uid ? (patchOf(found) ?? 'done') : 'superseded'),
  })
}

function refuse({ subject, object }: ApplyInput, where: string, namespace: string): void {
  const { name } = object.metadata
  if (!isObjectName(name))
    throw finalFailure('InvalidName', `${where} is applied; expected a name that the API server takes`)
  // The garbage collector removes what is owned from another namespace.
  if (subject.namespace !== '' && namespace !== subject.namespace)
    throw finalFailure(
      'OtherNamespace',
      `${where} is applied for ${nameOf(subject.kind, subject)}; expected the same namespace`,
    )
}

/** @throws `OwnedByAnother` (final). */
function applyPatch(
  { subject, target, object }: ApplyInput,
  current: KubeObject,
  isTarget: boolean,
): Patch | undefined {
  const { kind, metadata } = object
  const { labels, annotations } = metadata
  // Its kind and version are those that it is asked for by.
  const fields = { ...object, apiVersion: undefined, kind: undefined }
  const wanted = { ...fields, metadata: { ...(labels && { labels }), ...(annotations && { annotations }) } }
  const patch = wantedPatch(current, wanted)
  const owner = ownerOf(current)
  if (isTarget || owner?.uid === subject.uid) return patch
  if (owner !== undefined)
    throw finalFailure(
      'OwnedByAnother',
      `${nameOf(kind, current.metadata)} is owned by ${owner.kind} ${owner.name}; expected nobody, or ${nameOf(subject.kind, subject)}`,
    )
  const others = (current.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== subject.uid)
  const ownerReferences = [...others, referenceTo(subject, target)]
  return { ...patch, metadata: { ...(patch?.['metadata'] ?? {}), ownerReferences } }
}

function bodyOf({ subject, target, object }: ApplyInput, namespace: string): KubeObject {
  const { name, labels, annotations } = object.metadata
  return {
    ...object,
    metadata: {
      ...{ name, ...(namespace !== '' && { namespace }), ownerReferences: [referenceTo(subject, target)] },
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
  }
}

function referenceTo({ kind, name, uid }: Subject, { apiVersion }: LevelTarget) {
  return { apiVersion, kind, name, uid, controller: true }
}

async function writeStatus(deps: Deps, { by, subject, target, version, status }: StatusInput): Promise<void> {
  const patchOf = (found: KubeObject): Patch | undefined => {
    const current = statusOf(found)
    // Each field as a whole: what it lacks now goes, and null removes it.
    const own = Object.fromEntries(Object.keys(status).map((field) => [field, current[field]]))
    const patch = additivePatch(own, status)
    return patch && { status: patch }
  }
  const watched = followedKind(deps, target)
  const { namespace, name } = subject
  const current = await readObject(deps, watched, namespace, name)
  const patch = current?.metadata.uid === subject.uid ? patchOf(current) : undefined
  if (current === undefined || patch === undefined) return
  const answer = await send(deps, writerOf(by, 'status'), {
    ...{ verb: target.statusSubresource === false ? 'patch' : 'patchStatus', watched, namespace, name, patch },
    isStrict: true,
    version: current.metadata.resourceVersion ?? version,
    reapply: (found) => (found.metadata.uid === subject.uid ? (patchOf(found) ?? 'done') : 'superseded'),
  })
  if (answer.result === 'failed') throw about(`status of ${nameOf(subject.kind, subject)}`, answer.error)
  if (answer.result !== 'gone' || (await readObject(deps, watched, namespace, name)) === undefined) return
  throw finalFailure(
    'NoStatusEndpoint',
    `${nameOf(subject.kind, subject)} has no endpoint for its status; expected one, or \`statusSubresource: false\` in the controller`,
  )
}
