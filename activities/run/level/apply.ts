// Applies and creates objects for controllers in level mode.
//
//   A1. Each controller has one field manager, `pawl-<name>`, and writes only the fields that it mentions. So two controllers of one object do not conflict.
//   A2. After a conflict, the object is read again and the fields are applied again; the pass is not repeated. A write that expects one version is not
//       repeated.
//   A3. Fields that already have their values are not written. Nulls are left out of created objects, because the API server would store them.
//   A4. An object that blocks the write wakes the subject when it changes or is deleted. If no watch reports that, the fault is retried.
//   A5. In a terminating namespace nothing is created. If it is the target's own namespace, the fault is final.

import { type ApplyInput, type CreateInput, isObjectName } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure, isNamespaceTerminating, type KubeError, retryableFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Patch } from '../../kube/merge-patch.ts'
import type { Write, WriteAnswer } from '../../kube/write.ts'
import { fillSecrets, secretData } from './fill-secrets.ts'
import { followedKind, nameOf } from './kinds.ts'
import { obstacleOf, ownedMetadata } from './ownership.ts'
import { withObject, subscribeTo, type Place, send, writerOf } from './send.ts'
import { mergePatchTo, withoutNulls } from './merge-patch.ts'

// Attempts after a create that finds an existing object, or a patch that finds none. After the last attempt the next pass continues.
const TRIES = 3

/** @returns 'changed' when the object is not as it was expected. */
export async function apply(deps: Deps, given: ApplyInput): Promise<'applied' | 'changed'> {
  const at = placeOf(deps, given)
  const input = await filled(deps, given)
  for (let tries = 1; tries <= TRIES; tries++) {
    const ended = await applyOnce(deps, input, at)
    if (ended !== undefined) return ended
  }
  throw conflictError(at, 'applied')
}

/** @returns undefined if another client was faster; the caller tries again. */
async function applyOnce(
  deps: Deps,
  input: Filled<ApplyInput>,
  at: NamedPlace,
): Promise<'applied' | 'changed' | undefined> {
  const current = await readObject(deps, at.watched, at.namespace, at.name)
  if (current === undefined && input.expected !== undefined) return 'changed'
  if (current !== undefined && (await isBlocked(deps, input, at, current))) return undefined
  const answer =
    current === undefined
      ? await createObject(deps, input, at, 'apply')
      : await patchObject(deps, input, { ...at, current })
  if (answer === 'changed') return 'changed'
  if (answer === 'done' || answer.result === 'ok') return 'applied'
  if (answer.result === 'failed') throw createError(input, at, answer.error)
  if (answer.result === 'gone' && current === undefined) throw notServedError(at.where)
  return undefined
}

/** Creates the object, unless an object of its name exists. */
export async function create(deps: Deps, given: CreateInput): Promise<'created' | 'exists'> {
  const at = placeOf(deps, given)
  const input = await filled(deps, given)
  for (let tries = 1; tries <= TRIES; tries++) {
    const answer = await createObject(deps, input, at, 'create')
    if (answer.result === 'ok') return 'created'
    if (answer.result === 'failed') throw createError(input, at, answer.error)
    if (answer.result === 'gone') throw notServedError(at.where)
    if (!(await obstacleIsGone(deps, input, at, answer.object))) return 'exists'
  }
  throw conflictError(at, 'created')
}

/** Subscribes to an existing object that another owner has (A4). @returns true if it was deleted before the subscription. */
async function obstacleIsGone(deps: Deps, input: CreateInput, at: NamedPlace, existing: KubeObject): Promise<boolean> {
  if (obstacleOf(input, existing) === undefined || !(await subscribeTo(deps, input, at))) return false
  return (await readObject(deps, at.watched, at.namespace, at.name)) === undefined
}

type Filled<Input extends CreateInput> = Input & Pick<Write, 'redacted'>

/** Fills the values of Secrets into the object. */
async function filled<Input extends CreateInput>(deps: Deps, input: Input): Promise<Filled<Input>> {
  const { value, redacted } = await fillSecrets(deps, input, input.object, input.gaps)
  return { ...input, object: secretData(value) ?? value, redacted }
}

interface NamedPlace extends Place {
  /** Name for messages. */
  readonly where: string
}

/** @throws `InvalidName`, `OtherNamespace` (final). */
function placeOf(deps: Deps, { subject, resource, object, elsewhere }: CreateInput): NamedPlace {
  const { name } = object.metadata
  const namespace = resource.withoutNamespace === true ? '' : (object.metadata.namespace ?? subject.namespace)
  const where = nameOf(resource.kind, { namespace, name })
  if (!isObjectName(name))
    throw finalFailure('InvalidName', `${where}: the name is invalid; expected a name that the API server accepts`)
  // The garbage collector removes what is owned from another namespace.
  if (subject.namespace !== '' && namespace !== subject.namespace && elsewhere !== true)
    throw finalFailure(
      'OtherNamespace',
      `${where}: found another namespace than that of ${nameOf(subject.kind, subject)}; expected the same namespace`,
    )
  return { watched: followedKind(deps, resource), namespace, name, where }
}

/**
 * The error of a write. In the target's own terminating namespace no later attempt can succeed (final); another namespace may be created again.
 */
function createError({ subject }: CreateInput, { where, namespace }: NamedPlace, error: KubeError): Error {
  if (!isNamespaceTerminating(error)) return withObject(where, error)
  if (namespace !== subject.namespace) return retryableFailure(error.reason, withObject(where, error).message)
  return finalFailure(
    'NamespaceTerminating',
    `${where}: namespace "${namespace}" is being deleted and accepts no new object; create nothing during a deletion`,
  )
}

const conflictError = ({ where }: NamedPlace, done: string) =>
  retryableFailure(
    'Conflict',
    `${where}: other clients created and deleted the object during ${TRIES} attempts; it was not ${done}`,
  )

const notServedError = (where: string) =>
  retryableFailure('NotFound', `${where} cannot be created; check that its CRD and its namespace exist`)

/**
 * A4
 *
 * @returns true if the blocking object has changed since it was read.
 * @throws `OwnedByAnother`, `NotOwned`: final if a change of the object wakes the subject.
 */
async function isBlocked(deps: Deps, input: ApplyInput, at: NamedPlace, current: KubeObject): Promise<boolean> {
  if (isTarget(input)) return false
  const obstacle = obstacleOf(input, current)
  if (obstacle === undefined) return false
  const isHeard = await subscribeTo(deps, input, at)
  const { code, message } = obstacle
  if (!isHeard) throw retryableFailure(code, message)
  const now = await readObject(deps, at.watched, at.namespace, at.name)
  if (now?.metadata.resourceVersion === current.metadata.resourceVersion) throw finalFailure(code, message)
  return true
}

/** Whether the write is for the target itself, which has no ownership metadata. */
function isTarget({ subject, target, resource, object }: ApplyInput): boolean {
  const { name, namespace = subject.namespace } = object.metadata
  return (
    resource.kind === subject.kind &&
    resource.apiVersion === target.apiVersion &&
    name === subject.name &&
    namespace === subject.namespace
  )
}

async function createObject(
  deps: Deps,
  input: Filled<CreateInput>,
  at: NamedPlace,
  step: string,
): Promise<WriteAnswer> {
  const { watched, namespace, name } = at
  const body = bodyOf(input, namespace)
  const place = { watched, namespace, name, isStrict: true, ...concealedFields(input) } as const
  const write: Write = { ...place, verb: 'create', body, isOurs: () => false }
  return await send(deps, writerOf(input.by, step), write)
}

async function patchObject(
  deps: Deps,
  input: Filled<ApplyInput>,
  { watched, namespace, name, current }: NamedPlace & { readonly current: KubeObject },
): Promise<WriteAnswer | 'done' | 'changed'> {
  const { expected } = input
  const patch = applyPatch(input, current)
  if (patch === undefined) return 'done'
  const { uid, resourceVersion = '' } = current.metadata
  const isExpected = (found: KubeObject['metadata']) =>
    expected === undefined ||
    (found.uid === expected.metadata.uid && found.resourceVersion === expected.metadata.resourceVersion)
  if (!isExpected(current.metadata)) return 'changed'
  const answer = await send(deps, writerOf(input.by, 'apply'), {
    watched,
    namespace,
    name,
    isStrict: true,
    ...concealedFields(input),
    verb: 'patch',
    version: resourceVersion,
    patch,
    reapply: (found) => {
      const left = found.metadata.uid === uid ? applyPatch(input, found) : patch
      if (left === undefined) return 'done'
      const isStillOurs = isTarget(input) || obstacleOf(input, found) === undefined
      return found.metadata.uid === uid && isStillOurs && isExpected(found.metadata) ? left : 'superseded'
    },
  })
  return answer.result === 'superseded' && expected !== undefined ? 'changed' : answer
}

function concealedFields({ redacted }: Pick<Write, 'redacted'>): Pick<Write, 'redacted'> {
  return redacted === undefined ? {} : { redacted }
}

function applyPatch(input: ApplyInput, current: KubeObject): Patch | undefined {
  const { object } = input
  const owned = isTarget(input) ? {} : ownedMetadata(input, current.metadata)
  const metadata = desiredMetadata(input, owned, current)
  // Kind and version are part of the request path.
  return mergePatchTo(current, { ...object, apiVersion: undefined, kind: undefined, metadata })
}

function bodyOf(input: CreateInput, namespace: string): KubeObject {
  const { name } = input.object.metadata
  const metadata = desiredMetadata(input, ownedMetadata(input, undefined), undefined)
  const identity = { name, ...(namespace !== '' && { namespace }) }
  // A3
  const body = withoutNulls({ ...input.object, metadata: { ...metadata, ...identity } })
  return body as KubeObject
}

function desiredMetadata({ object }: CreateInput, owned: Patch, current: KubeObject | undefined): Patch {
  const { labels, annotations, finalizers = [] } = object.metadata
  const { labels: ownLabels, annotations: ownAnnotations, ...references } = owned
  const before = current?.metadata.finalizers ?? []
  const missing = finalizers.filter((finalizer) => !before.includes(finalizer))
  // The API server rejects new finalizers on an object that is being deleted.
  const isHeld = missing.length > 0 && current?.metadata.deletionTimestamp === undefined
  return {
    ...references,
    ...((labels ?? ownLabels) !== undefined && { labels: { ...labels, ...(ownLabels as Patch | undefined) } }),
    ...((annotations ?? ownAnnotations) !== undefined && {
      annotations: { ...annotations, ...(ownAnnotations as Patch | undefined) },
    }),
    ...(isHeld && { finalizers: [...before, ...missing] }),
  }
}
