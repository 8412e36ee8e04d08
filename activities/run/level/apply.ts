// Objects that a controller in level mode makes: applied, or created and left alone.
//
//   A1. One field manager per controller, `pawl-<name>`, and only fields that the controller mentions: two controllers of one object both win.
//   A2. A conflict re-reads and re-applies those fields, never the whole pass. What is expected in one version is not repeated.
//   A3. What is so already is not written. Null in what is made is nothing: servers take it for a value.
//   A4. What is in the way wakes the subject when it changes or goes; where nobody would hear of that, the fault is tried again.
//   A5. In a namespace that is being deleted nothing is created: a final fault where it is the target's own namespace.

import { type ApplyInput, type CreateInput, isObjectName } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure, isNamespaceTerminating, type KubeError, retryableFailure } from '../../kube/errors.ts'
import { readObject } from '../../kube/read-family.ts'
import type { Patch, Write, WriteAnswer } from '../../kube/write.ts'
import { fillSecrets, secretData } from './fill-secrets.ts'
import { followedKind, nameOf } from './kinds.ts'
import { obstacleOf, ownedMetadata } from './ownership.ts'
import { about, hearOf, type Place, send, writerOf } from './send.ts'
import { wantedPatch, withoutNulls } from './wanted-patch.ts'

// A create that meets an object, a patch that finds it gone: whoever did it twice in a row is left to the next pass.
const TRIES = 3

/** @returns 'changed' when the object is not as it was expected. */
export async function apply(deps: Deps, given: ApplyInput): Promise<'applied' | 'changed'> {
  const at = placeOf(deps, given)
  const input = await filled(deps, given)
  for (let tries = 1; tries <= TRIES; tries++) {
    const ended = await applyOnce(deps, input, at)
    if (ended !== undefined) return ended
  }
  throw neverStill(at, 'applied')
}

/** Undefined: others were faster. */
async function applyOnce(
  deps: Deps,
  input: Filled<ApplyInput>,
  at: NamedPlace,
): Promise<'applied' | 'changed' | undefined> {
  const current = await readObject(deps, at.watched, at.namespace, at.name)
  if (current === undefined && input.expected !== undefined) return 'changed'
  if (current !== undefined && (await isInTheWay(deps, input, at, current))) return undefined
  const answer =
    current === undefined ? await make(deps, input, at, 'apply') : await merge(deps, input, { ...at, current })
  if (answer === 'changed') return 'changed'
  if (answer === 'done' || answer.result === 'ok') return 'applied'
  if (answer.result === 'failed') throw refusedAt(input, at, answer.error)
  if (answer.result === 'gone' && current === undefined) throw notServed(at.where)
  return undefined
}

/** Makes the object, unless one of its name is there. */
export async function create(deps: Deps, given: CreateInput): Promise<'created' | 'exists'> {
  const at = placeOf(deps, given)
  const input = await filled(deps, given)
  for (let tries = 1; tries <= TRIES; tries++) {
    const answer = await make(deps, input, at, 'create')
    if (answer.result === 'ok') return 'created'
    if (answer.result === 'failed') throw refusedAt(input, at, answer.error)
    if (answer.result === 'gone') throw notServed(at.where)
    if (!(await hasGone(deps, input, at, answer.object))) return 'exists'
  }
  throw neverStill(at, 'created')
}

/** What is in the way may be a reason for the plan to wait until it is gone. @returns true when it went before anybody would have heard of it (A4). */
async function hasGone(deps: Deps, input: CreateInput, at: NamedPlace, existing: KubeObject): Promise<boolean> {
  if (obstacleOf(input, existing) === undefined || !(await hearOf(deps, input, at))) return false
  return (await readObject(deps, at.watched, at.namespace, at.name)) === undefined
}

type Filled<Input extends CreateInput> = Input & Pick<Write, 'conceals'>

/** With the values of Secrets in it. */
async function filled<Input extends CreateInput>(deps: Deps, input: Input): Promise<Filled<Input>> {
  const { value, conceals } = await fillSecrets(deps, input, input.object, input.gaps)
  return { ...input, object: secretData(value) ?? value, conceals }
}

interface NamedPlace extends Place {
  /** For people. */
  readonly where: string
}

/** @throws `InvalidName`, `OtherNamespace` (final). */
function placeOf(deps: Deps, { subject, resource, object, elsewhere }: CreateInput): NamedPlace {
  const { name } = object.metadata
  const namespace = resource.withoutNamespace === true ? '' : (object.metadata.namespace ?? subject.namespace)
  const where = nameOf(resource.kind, { namespace, name })
  if (!isObjectName(name))
    throw finalFailure('InvalidName', `${where} is applied; expected a name that the API server takes`)
  // The garbage collector removes what is owned from another namespace.
  if (subject.namespace !== '' && namespace !== subject.namespace && elsewhere !== true)
    throw finalFailure(
      'OtherNamespace',
      `${where} is applied for ${nameOf(subject.kind, subject)}; expected the same namespace`,
    )
  return { watched: followedKind(deps, resource), namespace, name, where }
}

/**
 * A namespace that is being deleted takes no new object. Where it is the target's own, no later try can succeed (final); another namespace may be made again.
 */
function refusedAt({ subject }: CreateInput, { where, namespace }: NamedPlace, error: KubeError): Error {
  if (!isNamespaceTerminating(error)) return about(where, error)
  if (namespace !== subject.namespace) return retryableFailure(error.reason, about(where, error).message)
  return finalFailure(
    'NamespaceTerminating',
    `${where}: namespace "${namespace}" is being deleted and takes no new object; expected a deletion that creates nothing`,
  )
}

const neverStill = ({ where }: NamedPlace, done: string) =>
  retryableFailure('Conflict', `${where} was made and removed by others ${TRIES} times while it was ${done}`)

const notServed = (where: string) =>
  retryableFailure('NotFound', `${where} cannot be made; expected the server to have its kind and its namespace`)

/**
 * A4
 *
 * @returns true when what was in the way has changed meanwhile.
 * @throws `OwnedByAnother`, `NotOwned`: final where a change wakes the subject.
 */
async function isInTheWay(deps: Deps, input: ApplyInput, at: NamedPlace, current: KubeObject): Promise<boolean> {
  if (isTarget(input)) return false
  const obstacle = obstacleOf(input, current)
  if (obstacle === undefined) return false
  const isHeard = await hearOf(deps, input, at)
  const { code, message } = obstacle
  if (!isHeard) throw retryableFailure(code, message)
  const now = await readObject(deps, at.watched, at.namespace, at.name)
  if (now?.metadata.resourceVersion === current.metadata.resourceVersion) throw finalFailure(code, message)
  return true
}

/** Labels and annotations of the target itself: it owns nothing. */
function isTarget({ subject, target, resource, object }: ApplyInput): boolean {
  const { name, namespace = subject.namespace } = object.metadata
  return (
    resource.kind === subject.kind &&
    resource.apiVersion === target.apiVersion &&
    name === subject.name &&
    namespace === subject.namespace
  )
}

async function make(deps: Deps, input: Filled<CreateInput>, at: NamedPlace, step: string): Promise<WriteAnswer> {
  const { watched, namespace, name } = at
  const body = bodyOf(input, namespace)
  const place = { watched, namespace, name, isStrict: true, ...concealing(input) } as const
  const write: Write = { ...place, verb: 'create', body, isOurs: () => false }
  return await send(deps, writerOf(input.by, step), write)
}

async function merge(
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
    ...{ watched, namespace, name, isStrict: true, ...concealing(input) },
    ...{ verb: 'patch', version: resourceVersion, patch },
    reapply: (found) => {
      const left = found.metadata.uid === uid ? applyPatch(input, found) : patch
      if (left === undefined) return 'done'
      const isStillOurs = isTarget(input) || obstacleOf(input, found) === undefined
      return found.metadata.uid === uid && isStillOurs && isExpected(found.metadata) ? left : 'superseded'
    },
  })
  return answer.result === 'superseded' && expected !== undefined ? 'changed' : answer
}

function concealing({ conceals }: Pick<Write, 'conceals'>): Pick<Write, 'conceals'> {
  return conceals === undefined ? {} : { conceals }
}

function applyPatch(input: ApplyInput, current: KubeObject): Patch | undefined {
  const { object } = input
  const owned = isTarget(input) ? {} : ownedMetadata(input, current.metadata)
  const metadata = wantedMetadata(input, owned, current)
  // Its kind and version are those that it is asked for by.
  return wantedPatch(current, { ...object, apiVersion: undefined, kind: undefined, metadata })
}

function bodyOf(input: CreateInput, namespace: string): KubeObject {
  const { name } = input.object.metadata
  const metadata = wantedMetadata(input, ownedMetadata(input, undefined), undefined)
  const identity = { name, ...(namespace !== '' && { namespace }) }
  // A3
  const body = withoutNulls({ ...input.object, metadata: { ...metadata, ...identity } })
  return body as KubeObject
}

function wantedMetadata({ object }: CreateInput, owned: Patch, current: KubeObject | undefined): Patch {
  const { labels, annotations, finalizers = [] } = object.metadata
  const { labels: ownLabels, annotations: ownAnnotations, ...references } = owned
  const before = current?.metadata.finalizers ?? []
  const missing = finalizers.filter((finalizer) => !before.includes(finalizer))
  // None can be put on what is being deleted.
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
