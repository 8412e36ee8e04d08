// Writes of a controller in level mode to objects that others make: some of their fields, or a finalizer of its own.
//
//   P1. Only the fields that are mentioned, and never whose an object is.
//   P2. What is so already is not written; a conflict re-reads and re-applies, unless one version is meant.
//   P3. Fields and status are two writes. Fenced, the second one is meant for the version that the first one made.

import type { ObservedObject, PatchInput, ReleaseInput } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Patch, Write } from '../../kube/write.ts'
import { fillSecrets, secretData } from './fill-secrets.ts'
import { followedKind, nameOf } from './kinds.ts'
import { about, type Place, send, writerOf } from './send.ts'
import { wantedPatch } from './wanted-patch.ts'

/** @returns 'changed' when it is another object, or, fenced, not in the observed version. @throws `InvalidPatch` (final). */
export async function patchObserved(deps: Deps, input: PatchInput): Promise<'patched' | 'changed'> {
  const { object, resource } = input
  refuseIdentity(object, input.patch)
  const { value, conceals } = await fillSecrets(deps, input, input.patch, input.gaps)
  const patch: Patch = secretData({ ...value, apiVersion: object.apiVersion, kind: object.kind }) ?? value
  const { name, namespace = '' } = object.metadata
  const at = { watched: followedKind(deps, resource), namespace, name, conceals }
  const { ['status']: status, ...others } = patch
  // Its kind and version are those that it is asked for by.
  const fields = { ...others, apiVersion: undefined, kind: undefined }
  const parts = [
    { verb: 'patch', wanted: fields },
    ...(status === undefined ? [] : [{ verb: 'patchStatus', wanted: { status } } as const]),
  ] as const
  const current = await readObject(deps, at.watched, namespace, name)
  const wanted = parts.filter((part) => current === undefined || wantedPatch(current, part.wanted) !== undefined)
  if (current?.metadata.uid !== object.metadata.uid) return 'changed'
  let found: KubeObject = current
  let meant: string | undefined = object.metadata.resourceVersion
  for (const { verb, wanted: part } of wanted) {
    const left = wantedPatch(found, part)
    if (left === undefined) continue
    if (input.fenced && found.metadata.resourceVersion !== meant) return 'changed'
    const answer = await write(deps, input, at, { verb, found, wanted: part, patch: left })
    if (answer === undefined) return 'changed'
    found = answer.object
    // P3. What others have made so is a version of theirs.
    if (answer.wrote) meant = found.metadata.resourceVersion
  }
  return 'patched'
}

interface Part {
  readonly verb: 'patch' | 'patchStatus'
  readonly found: KubeObject
  readonly wanted: Patch
  /** What is left to do of it. */
  readonly patch: Patch
}

async function write(
  deps: Deps,
  { by, object, fenced }: PatchInput,
  at: Place & Pick<Write, 'conceals'>,
  { verb, found, wanted, patch }: Part,
) {
  const answer = await send(deps, writerOf(by, 'patch'), {
    ...{ ...at, isStrict: true, verb, patch, version: found.metadata.resourceVersion ?? '' },
    reapply: (now) => {
      const left = now.metadata.uid === object.metadata.uid ? wantedPatch(now, wanted) : patch
      if (left === undefined) return 'done'
      return now.metadata.uid === object.metadata.uid && !fenced ? left : 'superseded'
    },
  })
  if (answer.result === 'failed') throw about(nameOf(object.kind, object.metadata), answer.error)
  return answer.result === 'ok' ? answer : undefined
}

// P1
const PATCHABLE = new Set(['labels', 'annotations'])

function refuseIdentity(object: ObservedObject, { metadata = {} }: PatchInput['patch']): void {
  const wrong = Object.keys(metadata).filter((field) => !PATCHABLE.has(field))
  if (wrong.length === 0) return
  const found = wrong.map((field) => `metadata.${field}`).join(', ')
  const message = `${nameOf(object.kind, object.metadata)} is patched with ${found}; expected labels and annotations only of its metadata`
  throw finalFailure('InvalidPatch', message)
}

/** Takes a finalizer off the object; without it, or gone, is success. @returns 'gone' where that was all that held it. */
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
    ...{ ...at, verb: 'patch', patch, version: current.metadata.resourceVersion ?? '', reapply: next },
  })
  if (answer.result === 'failed') throw about(nameOf(object.kind, object.metadata), answer.error)
  return answer.result === 'gone' || (answer.result === 'ok' && isGone(answer.object)) ? 'gone' : 'released'
}

/** The API server takes it away with the last finalizer, unless somebody is given time to end it. */
function isGone({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0
}
