// Patches objects of other owners for controllers in level mode: some of their fields, or the controller's finalizer.
//
//   P1. A patch has only the mentioned fields, and never metadata of ownership.
//   P2. Fields that already have their values are not written. A conflict reads and applies again, unless the write is fenced.
//   P3. Fields and status are two writes. In a fenced patch, the second write expects the version that the first one created.

import type { ObservedObject, PatchInput, ReleaseInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Patch } from '../../kube/merge-patch.ts'
import type { Write } from '../../kube/write.ts'
import { fillSecrets, secretData } from './fill-secrets.ts'
import { followedKind, nameOf } from './kinds.ts'
import { withObject, type Place, send, writerOf } from './send.ts'
import { mergePatchTo } from './merge-patch.ts'

/** @returns 'changed' if another object has the name, or, in a fenced patch, if the version is not the observed one. @throws `InvalidPatch` (final). */
export async function patchObserved(deps: Deps, input: PatchInput): Promise<'patched' | 'changed'> {
  const { object, resource } = input
  refuseIdentity(object, input.patch)
  const { value, redacted } = await fillSecrets(deps, input, input.patch, input.gaps)
  const patch: Patch = secretData({ ...value, apiVersion: object.apiVersion, kind: object.kind }) ?? value
  const { name, namespace = '' } = object.metadata
  // Typed: without the type, a misspelt `redacted` would be lost, and messages would contain values of Secrets.
  const at: Place & Pick<Write, 'redacted'> = { watched: followedKind(deps, resource), namespace, name, redacted }
  const { ['status']: status, ...others } = patch
  // Kind and version are part of the request path.
  const fields = { ...others, apiVersion: undefined, kind: undefined }
  const parts = [
    { verb: 'patch', wanted: fields },
    ...(status === undefined ? [] : [{ verb: 'patchStatus', wanted: { status } } as const]),
  ] as const
  const current = await readObject(deps, at.watched, namespace, name)
  const wanted = parts.filter((part) => current === undefined || mergePatchTo(current, part.wanted) !== undefined)
  if (current?.metadata.uid !== object.metadata.uid) return 'changed'
  let found: KubeObject = current
  let meant: string | undefined = object.metadata.resourceVersion
  for (const { verb, wanted: part } of wanted) {
    const left = mergePatchTo(found, part)
    if (left === undefined) continue
    if (input.fenced && found.metadata.resourceVersion !== meant) return 'changed'
    const answer = await write(deps, input, at, { verb, found, wanted: part, patch: left })
    if (answer === undefined) return 'changed'
    found = answer.object
    // P3. If another client has written the same values, its version is not ours.
    if (answer.wrote) meant = found.metadata.resourceVersion
  }
  return 'patched'
}

interface Part {
  readonly verb: 'patch' | 'patchStatus'
  readonly found: KubeObject
  readonly wanted: Patch
  /** The remaining difference. */
  readonly patch: Patch
}

async function write(
  deps: Deps,
  { by, object, fenced }: PatchInput,
  at: Place & Pick<Write, 'redacted'>,
  { verb, found, wanted, patch }: Part,
) {
  const answer = await send(deps, writerOf(by, 'patch'), {
    ...at,
    isStrict: true,
    verb,
    patch,
    version: found.metadata.resourceVersion ?? '',
    reapply: (now) => {
      const left = now.metadata.uid === object.metadata.uid ? mergePatchTo(now, wanted) : patch
      if (left === undefined) return 'done'
      return now.metadata.uid === object.metadata.uid && !fenced ? left : 'superseded'
    },
  })
  if (answer.result === 'failed') throw withObject(nameOf(object.kind, object.metadata), answer.error)
  return answer.result === 'ok' ? answer : undefined
}

// P1
const PATCHABLE = new Set(['labels', 'annotations'])

function refuseIdentity(object: ObservedObject, { metadata = {} }: PatchInput['patch']): void {
  const wrong = Object.keys(metadata).filter((field) => !PATCHABLE.has(field))
  if (wrong.length === 0) return
  const found = wrong.map((field) => `metadata.${field}`).join(', ')
  const message = `${nameOf(object.kind, object.metadata)} : found a patch of ${found}; expected only labels and annotations of metadata`
  throw finalFailure('InvalidPatch', message)
}

/** Removes a finalizer. An object without it, or a missing object, is success. @returns 'gone' if the object does not exist any more. */
export async function release(
  deps: Deps,
  { by, resource, object, finalizer }: ReleaseInput,
): Promise<'released' | 'gone'> {
  const { name, namespace = '', uid } = object.metadata
  const at = { watched: followedKind(deps, resource), namespace, name }
  const next = (current: KubeObject): Patch | 'done' => {
    const finalizers = current.metadata.uid === uid ? (current.metadata.finalizers ?? []) : []
    if (!finalizers.includes(finalizer)) return 'done'
    return { metadata: { finalizers: finalizers.filter((one) => one !== finalizer) } }
  }
  const current = await readObject(deps, at.watched, namespace, name)
  if (current?.metadata.uid !== uid) return 'gone'
  const patch = next(current)
  if (patch === 'done') return 'released'
  const answer = await send(deps, writerOf(by, 'release'), {
    ...at,
    verb: 'patch',
    patch,
    version: current.metadata.resourceVersion ?? '',
    reapply: next,
  })
  if (answer.result === 'failed') throw withObject(nameOf(object.kind, object.metadata), answer.error)
  return answer.result === 'gone' || (answer.result === 'ok' && isGone(answer.object)) ? 'gone' : 'released'
}

/** Whether the API server deletes the object with this write: no finalizer and no grace period is left. */
function isGone({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0
}
