// Keeps Targets in use, and the Secrets that they reference, until the last DeployItem that needs them is uninstalled. Kubernetes deletes the objects
// of a namespace in any order; without a Target nothing can be uninstalled. Source: docs/adr/0064.
//
//   P1. The finalizer is written before anything is sent to the target. An object that has it is not written again.
//   P2. The Target's annotation names its Secret before that Secret gets the finalizer. So every Secret with the finalizer can be found.
//   P3. A release reads all Targets and DeployItems of the namespace, so that its repetition completes an interrupted release. It reads from the API
//       server, because the journal may not have the newest DeployItem.
//   P4. A release checks for new users again after it has written, and restores the finalizer for them.

import { HELD_SECRET_ANNOTATION, IN_USE_FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { type Target, targetKind } from '../../../../workflows/landscaper/target/kind.ts'
import type { By, WatchedKind } from '../../../../workflows/kit/index.ts'
import type { Deps } from '../../../deps.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { isNotFound } from '../../../kube/errors.ts'
import { recordEvent } from '../../../kube/events.ts'
import { listFromServer } from '../../../kube/read-family.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { secretResource } from '../../../kube/core-kinds.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import { type Write, writeAll } from '../../../kube/write.ts'
import { finalizerPatch, finalizerPatchAfterConflict } from '../../../run/finalize.ts'
import type { TargetObjects } from './target-cluster.ts'
import { keepsTargets, targetsOf } from './target-users.ts'
import { joinNames } from '../../../../workflows/kit/index.ts'

export interface Protection {
  /** Adds the finalizer if it is missing and the object is not being deleted. @throws KubeError */
  addFinalizers(by: By, objects: TargetObjects): Promise<TargetObjects>
  /**
   * Removes the finalizer from the Targets of the namespace that no DeployItem needs any more, and from their Secrets.
   *
   * @param leaving uid of an item that does not count, because it is about to be released.
   * @returns the names of the DeployItems that need a Target, by the name of the Target.
   * @throws KubeError
   */
  removeFinalizers(by: By, namespace: string, leaving?: string): Promise<ReadonlyMap<string, readonly string[]>>
}

/** @param protects false: no object gets the finalizer; a release still removes it. */
export function createProtection(deps: Deps, protects: boolean): Protection {
  const holding = new Map<string, Promise<TargetObjects>>()
  return {
    async addFinalizers(by, objects) {
      if (!protects || isHeld(objects)) return objects
      const version = versionOf(objects)
      const known = holding.get(version)
      if (known !== undefined) return await known
      const held = hold(deps, by, objects)
      holding.set(version, held)
      held.catch(() => holding.delete(version))
      for (const oldest of holding.keys()) {
        if (holding.size <= MAX_CACHED) break
        holding.delete(oldest)
      }
      return await held
    },
    async removeFinalizers(by, namespace, leaving) {
      const used = await release(deps, by, { namespace, leaving })
      if (protects) await restoreFinalizers(deps, by, namespace, used)
      return new Map([...used].map(([name, { items }]) => [name, items]))
    },
  }
}

// Items with the same version of a Target share one write of the finalizer.
const MAX_CACHED = 100
const FIELD_MANAGER = 'pawl-deploy'
const ITEMS_SHOWN = 10

/** Whether no write is needed. An object that is being deleted takes no new finalizer. */
function isHeld({ target, secret }: TargetObjects): boolean {
  return isTargetHeld(target) && (secret === undefined || isHeldOrLeaving(secret))
}

function isTargetHeld(target: Target): boolean {
  const isNamed = heldSecretOf(target) === target.spec.secretRef?.name
  return target.metadata.deletionTimestamp !== undefined || (hasFinalizer(target) && isNamed)
}

function isHeldOrLeaving(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined || hasFinalizer(object)
}

function hasFinalizer({ metadata: { finalizers = [] } }: Pick<KubeObject, 'metadata'>): boolean {
  return finalizers.includes(IN_USE_FINALIZER)
}

function heldSecretOf({ metadata }: Target): string | undefined {
  return metadata.annotations?.[HELD_SECRET_ANNOTATION]
}

function versionOf({ target, secret }: TargetObjects): string {
  return [target, secret].map((one) => `${one?.metadata.uid ?? ''}/${one?.metadata.resourceVersion ?? ''}`).join(' ')
}

async function hold(deps: Deps, by: By, { target, secret }: TargetObjects): Promise<TargetObjects> {
  const previous = heldSecretOf(target)
  if (previous !== undefined && previous !== target.spec.secretRef?.name)
    await releaseSecretOf(deps, by, target.metadata.namespace, { secret: previous, target: target.metadata.name })
  // P2
  const held = isTargetHeld(target) ? target : await write(deps, by, holdTarget(target), target)
  if (secret === undefined || isHeldOrLeaving(secret)) return { target: held, secret }
  return { target: held, secret: await write(deps, by, addition(secretResource, secret), secret) }
}

function holdTarget(target: Target): Write<typeof targetKind> {
  const patch = (current: Target): Patch => {
    const { finalizers = [] } = current.metadata
    const annotations = { [HELD_SECRET_ANNOTATION]: current.spec.secretRef?.name ?? null }
    return { metadata: { ...(finalizerPatch(IN_USE_FINALIZER, finalizers, true)['metadata'] as Patch), annotations } }
  }
  return {
    verb: 'patch',
    watched: targetKind,
    ...placeOf(target),
    patch: patch(target),
    reapply(current) {
      if (current.metadata.uid !== target.metadata.uid) return 'superseded'
      return isTargetHeld(current) ? 'done' : patch(current)
    },
  }
}

function addition(watched: WatchedKind, object: KubeObject): Write {
  const { finalizers = [], uid = '' } = object.metadata
  return {
    verb: 'patch',
    watched,
    ...placeOf(object),
    patch: finalizerPatch(IN_USE_FINALIZER, finalizers, true),
    reapply: (current) =>
      current.metadata.deletionTimestamp === undefined
        ? finalizerPatchAfterConflict(current, uid, IN_USE_FINALIZER, true)
        : 'superseded',
  }
}

function removal(watched: WatchedKind, object: KubeObject): Write {
  const { finalizers = [], uid = '' } = object.metadata
  return {
    verb: 'patch',
    watched,
    ...placeOf(object),
    patch: withoutAnnotation(finalizerPatch(IN_USE_FINALIZER, finalizers, false), object),
    reapply(current) {
      const again = finalizerPatchAfterConflict(current, uid, IN_USE_FINALIZER, false)
      return typeof again === 'string' ? again : withoutAnnotation(again, current)
    },
  }
}

function withoutAnnotation(patch: Patch, { metadata }: KubeObject): Patch {
  if (metadata.annotations?.[HELD_SECRET_ANNOTATION] === undefined) return patch
  return { metadata: { ...(patch['metadata'] as Patch), annotations: { [HELD_SECRET_ANNOTATION]: null } } }
}

function placeOf({ metadata: { name, namespace = '', resourceVersion: version = '' } }: KubeObject) {
  return { name, namespace, version }
}

/** @returns the object after the write; `before` when the object is missing. @throws KubeError */
async function write<Object extends KubeObject>(deps: Deps, by: By, change: Write, before: Object): Promise<Object> {
  const [answer] = await writeAll(deps, { ...by, step: 'protectTargets', fieldManager: FIELD_MANAGER }, [change])
  if (answer?.result === 'failed') throw answer.error
  return answer === undefined || answer.result === 'gone' ? before : (answer.object as Object)
}

interface Place {
  readonly namespace: string
  readonly leaving: string | undefined
}

/** @returns the users of Targets after the last write. */
async function release(deps: Deps, by: By, place: Place): Promise<UsedTargets> {
  const targets = await listAll(deps, targetKind, place.namespace)
  if (targets.length === 0) return new Map()
  const used = await usedTargets(deps, place)
  const held = targets.filter(hasFinalizer)
  for (const target of held) await reportUsers(deps, target, used)
  const unused = held.filter(({ metadata }) => !used.has(metadata.name))
  const stillHeld = new Set(held.filter((one) => !unused.includes(one)).map(heldSecretOf))
  const secrets = new Set(unused.map(heldSecretOf).filter((name) => name !== undefined && !stillHeld.has(name)))
  // P2: a Secret is released first, because its Target names it.
  for (const name of secrets) if (name !== undefined) await releaseSecret(deps, by, place.namespace, name)
  for (const target of unused) await write(deps, by, removal(targetKind, target), target)
  return unused.length > 0 ? await usedTargets(deps, place) : used
}

/** Emits an Event on a Target that is being deleted, with its users, for `kubectl describe`. */
async function reportUsers(deps: Deps, { metadata }: Target, used: UsedTargets): Promise<void> {
  const { name, namespace, uid, deletionTimestamp } = metadata
  const { items = [] } = used.get(name) ?? {}
  if (deletionTimestamp === undefined || items.length === 0) return
  const shown = joinNames(items, ITEMS_SHOWN)
  const { apiVersion, kind } = targetKind
  await recordEvent(
    deps,
    { apiVersion, kind, namespace, name, uid },
    {
      type: 'Normal',
      reason: 'TargetInUse',
      source: 'pawl',
      identity: [uid, 'TargetInUse', ...items],
      message: `Target "${namespace}/${name}" is being deleted; it stays until these deploy items are uninstalled: ${shown}`,
    },
  )
}

/** P4: for new users, and for users that an interrupted release has missed. */
async function restoreFinalizers(deps: Deps, by: By, namespace: string, used: UsedTargets): Promise<void> {
  const names = [...used].flatMap(([name, { isDeployedTo }]) => (isDeployedTo ? [name] : []))
  if (names.length === 0) return
  const targets = await listAll(deps, targetKind, namespace)
  for (const target of targets.filter((one) => names.includes(one.metadata.name) && !isTargetHeld(one))) {
    const name = target.spec.secretRef?.name
    const secret = name === undefined ? undefined : await readSecret(deps, namespace, name)
    await hold(deps, by, { target, secret })
  }
}

interface Users {
  /** Names of the DeployItems. */
  readonly items: readonly string[]
  /** Whether one of them has deployed objects. */
  readonly isDeployedTo: boolean
}

/** The users of Targets, by the name of the Target. */
type UsedTargets = ReadonlyMap<string, Users>

/** A kind whose CustomResourceDefinition was deleted has no objects. */
async function listAll<Watched extends WatchedKind>(deps: Deps, watched: Watched, namespace: string) {
  try {
    return await listFromServer(deps, watched, namespace, '')
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}

async function usedTargets(deps: Deps, { namespace, leaving }: Place): Promise<UsedTargets> {
  const items = await listAll(deps, deployItemKind, namespace)
  const used = new Map<string, Users>()
  for (const item of items.filter((one) => one.metadata.uid !== leaving && keepsTargets(one))) {
    const hasDeployed = item.status?.providerStatus !== undefined
    for (const name of targetsOf(item)) {
      const { items: others, isDeployedTo } = used.get(name) ?? { items: [], isDeployedTo: false }
      used.set(name, { items: [...others, item.metadata.name], isDeployedTo: hasDeployed || isDeployedTo })
    }
  }
  return used
}

/** Releases the previous Secret of a Target that now references another one. */
async function releaseSecretOf(
  deps: Deps,
  by: By,
  namespace: string,
  { secret, target }: { readonly secret: string; readonly target: string },
): Promise<void> {
  const others = (await listAll(deps, targetKind, namespace)).filter(({ metadata }) => metadata.name !== target)
  const isShared = others.some((one) => hasFinalizer(one) && heldSecretOf(one) === secret)
  if (!isShared) await releaseSecret(deps, by, namespace, secret)
}

async function releaseSecret(deps: Deps, by: By, namespace: string, name: string): Promise<void> {
  const secret = await readSecret(deps, namespace, name)
  if (secret !== undefined && hasFinalizer(secret)) await write(deps, by, removal(secretResource, secret), secret)
}

async function readSecret({ kube }: Deps, namespace: string, name: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', resourcePath(secretResource, namespace, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
