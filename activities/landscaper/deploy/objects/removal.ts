// Deletes resources by deletion groups: one call is one step in the first unfinished group. Source: spec/landscaper.md 4.4.
//
//   G1. A group starts when the previous group is deleted. Resources in no group stay on the cluster.
//   G2. A failing delete stops no other deletion of its group, is retried after any answer, and is reported with the timeout (appendix B 36).
//   G3. "Gone" is never reported from cached kinds: the kinds are requested again first, and objects of changed kinds are read again.

import { resourcePath } from '../../../kube/resource-path.ts'
import { DeployError, type ItemWork } from '../run/deployer.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { configurationProblem, toRemovalError } from '../run/deploy-errors.ts'
import { listObjects, MAX_OBJECTS } from '../target/answers.ts'
import { readServedKinds, servedInAnyVersion, versionsServed } from '../target/discovery.ts'
import { describeObject, isSameKind } from '../target/read-object.ts'
import { groupOf, type ServedKind, type TargetCluster } from '../target/target-cluster.ts'
import type { ItemLabels } from './ownership-labels.ts'
import {
  type CustomGroup,
  type DeletionGroup,
  isInGroup,
  isKind,
  isNamed,
  type ResourceTypes,
} from './deletion-groups.ts'
import { type ManagedResource, resourceKey, type ResourceRef, withoutNamespace } from './managed-resources.ts'
import { attempt, joinedError, formatList } from './problems.ts'
import { type ObjectRemoval, removeObject } from './remove-object.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'

const DELETES_AT_ONCE = 10

export interface RemovalInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'signal'>
  /** `lastError.operation`. */
  readonly operation: string
  readonly mark: ItemLabels
  readonly resources: readonly ManagedResource[]
  readonly groups: readonly DeletionGroup[]
  /** Objects that no group deletes, even if it deletes all objects of a type. */
  readonly spared: readonly ManagedResource[]
}

export type RemovalStep =
  | { readonly result: 'gone' }
  | { readonly result: 'waiting'; readonly waitingFor: string }
  | { readonly result: 'failed'; readonly error: DeployError }

/** @throws KubeError, DeployError when a target or its kinds cannot be read. */
export async function removalStep(input: RemovalInput): Promise<RemovalStep> {
  const { work, resources } = input
  if (resources.length === 0) return { result: 'gone' }
  let placed = await withKinds(work, resources)
  for (let tries = 1; tries <= MAX_KIND_CHANGES; tries++) {
    const step = await removePlaced(input, placed)
    if (step.result !== 'gone') return step
    // G3.
    forgetKinds(work.target, resources)
    const fresh = await withKinds(work, resources)
    if (fresh.every(({ served }, index) => isSameKind(served, placed[index]?.served))) return step
    placed = fresh
  }
  return { result: 'waiting', waitingFor: 'the target is changing the kinds that it serves' }
}

const MAX_KIND_CHANGES = 3

/** Drops the cached kinds of the groups of these resources. */
export function forgetKinds(target: TargetCluster, resources: readonly ManagedResource[]): void {
  const groups = new Map(resources.map(({ resource: { apiVersion } }) => [groupOf(apiVersion), apiVersion]))
  for (const apiVersion of groups.values()) target.forgetKinds(apiVersion)
}

async function removePlaced(input: RemovalInput, placed: readonly Placed[]): Promise<RemovalStep> {
  const { work, operation, groups } = input
  const resources = placed.map(({ resource }) => resource)
  for (const [index, group] of groups.entries()) {
    const isOwn = ({ resource, served }: Placed) =>
      groups.findIndex((one) => isInGroup(one, resource.resource, served?.plural)) === index
    const deletions = isOfAll(group)
      ? await allOf({ ...input, resources }, group)
      : placed
          .filter(isOwn)
          .map(({ resource, served }) => ({ target: work.target, served, managed: resource, isAnyones: false }))
    const how = { operation, mark: input.mark, forceDelete: group.forceDelete, signal: work.signal }
    const step = await deleteAll(how, deletions)
    if (step.result !== 'gone') return step
  }
  return { result: 'gone' }
}

type Deletion = Pick<ObjectRemoval, 'target' | 'served' | 'managed' | 'isAnyones'>

async function deleteAll(
  how: Omit<ObjectRemoval, keyof Deletion> & { readonly operation: string },
  deletions: readonly Deletion[],
): Promise<RemovalStep> {
  const answers = await inParallel(deletions, DELETES_AT_ONCE, async (deletion) => {
    how.signal.throwIfAborted()
    const name = describeObject(deletion.managed.resource)
    return await attempt(how.operation, name, () => removeObject({ ...deletion, ...how }), toRemovalError)
  })
  const problems = answers.filter((answer) => 'error' in answer)
  const waiting = answers.flatMap((answer) => ('value' in answer ? (answer.value ?? []) : []))
  if (problems.length > 0) return { result: 'failed', error: joinedError(how.operation, problems) }
  return waiting.length > 0 ? { result: 'waiting', waitingFor: formatList(waiting) } : { result: 'gone' }
}

interface Placed {
  readonly resource: ManagedResource
  /** Undefined: the cluster serves the kind in no version, so its objects are gone. */
  readonly served: ServedKind | undefined
}

/** The resources as served by the cluster: in a served version, without namespace if the kind is cluster-scoped, without duplicates. */
async function withKinds(
  { target, signal }: RemovalInput['work'],
  resources: readonly ManagedResource[],
): Promise<Placed[]> {
  const placed = await inParallel(resources, DELETES_AT_ONCE, async (managed): Promise<Placed> => {
    const served = await servedInAnyVersion(target, managed.resource, signal)
    if (served?.namespaced !== false) return { resource: managed, served }
    return { resource: { ...managed, resource: withoutNamespace(managed.resource) }, served }
  })
  return [...new Map(placed.map((one) => [resourceKey(one.resource.resource), one])).values()]
}

type AllGroup = CustomGroup & { readonly deleteAllResources: true }

export const isOfAll = (group: DeletionGroup): group is AllGroup => group.type === 'custom' && group.deleteAllResources

/** Every object of the group's types, also objects that no item has deployed, without the objects that this item keeps. */
async function allOf({ work, resources, spared }: RemovalInput, group: AllGroup): Promise<Deletion[]> {
  const target = group.targetName === undefined ? work.target : await work.openTarget(group.targetName)
  const isOwn = group.targetName === undefined
  const known = new Map((isOwn ? resources : []).map((managed) => [resourceKey(managed.resource), managed]))
  const sparedKeys = new Set((isOwn ? spared : []).map(({ resource }) => resourceKey(resource)))
  const found = await inParallel(group.resources, 1, (types) => objectsOf(target, types, work.signal))
  return found
    .flat()
    .filter(({ managed: { resource } }) => !sparedKeys.has(resourceKey(resource)))
    .map(({ managed, served }) => ({
      target,
      served,
      managed: known.get(resourceKey(managed.resource)) ?? managed,
      isAnyones: true,
    }))
}

async function objectsOf(
  target: TargetCluster,
  types: ResourceTypes,
  signal: AbortSignal,
): Promise<Pick<Deletion, 'managed' | 'served'>[]> {
  const served = await servedTypes(target, types, signal)
  if (served === undefined) return []
  const places = served.namespaced && types.namespaces.length > 0 ? types.namespaces : [undefined]
  const found = await inParallel(places, 1, (namespace) => allIn(target, resourcePath(served, namespace), signal))
  return found
    .flat()
    .filter((reference) => isNamed(types, reference))
    .map((reference) => ({
      served,
      managed: { policy: 'manage', resource: { apiVersion: served.apiVersion, kind: served.kind, ...reference } },
    }))
}

async function allIn({ kube }: TargetCluster, path: string, signal: AbortSignal): Promise<Reference[]> {
  const tooMany = () => {
    const message = `customResourceGroup with deleteAllResources: found more than ${MAX_OBJECTS} objects; expected fewer`
    return configurationProblem('DeleteResources', 'InvalidConfiguration', message)
  }
  const found: Reference[] = []
  // Keeps only the names, because objects may be large.
  for await (const { metadata } of listObjects(kube, path, { signal, tooMany })) {
    const { name, namespace, uid } = metadata
    found.push({ name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) })
  }
  return found
}

type Reference = Pick<ResourceRef, 'name' | 'namespace' | 'uid'>

// Finds the kind by its name, otherwise by the plural as in examples; in the version of the group's entry, otherwise in any served version.
async function servedTypes(
  target: TargetCluster,
  types: ResourceTypes,
  signal: AbortSignal,
): Promise<ServedKind | undefined> {
  const { apiVersion, kind } = types
  target.forgetKinds(apiVersion)
  const served = await servedInAnyVersion(target, types, signal)
  if (served !== undefined) return served
  for (const version of await versionsServed(target.kube, apiVersion, signal)) {
    const all = await readServedKinds(target.kube, version, signal)
    const found = all.find((one) => isKind(kind, one.kind, one.plural))
    if (found !== undefined) return found
  }
  return undefined
}

// Removes the objects of an item from its former Target after `spec.target` was changed. This happens first, because the new deployment replaces the
// list of deployed objects.
//
//   T1. Two Targets with the same server are one cluster: nothing is removed.

type FormerTargetRemoval = Omit<RemovalInput, 'work'> & {
  readonly work: ItemWork
  /** The Target in the status; undefined: the item's. */
  readonly targetName: string | undefined
}

/** One step of the removal from the former Target; `here` if the Target is the item's cluster. @throws DeployError that names the Target */
export async function leaveFormerTarget({
  work,
  targetName,
  ...removal
}: FormerTargetRemoval): Promise<RemovalStep | { readonly result: 'here' }> {
  if (targetName === undefined || targetName === targetOf(work.item)) return { result: 'here' }
  try {
    const target = await work.openTarget(targetName)
    if (isSameServer(target, work.target)) return { result: 'here' }
    const step = await removalStep({ ...removal, work: { ...work, target } })
    if (step.result === 'failed') throw step.error
    return step.result === 'waiting' ? { ...step, waitingFor: `Target "${targetName}": ${step.waitingFor}` } : step
  } catch (error) {
    const { operation, reason, message, codes } = toRemovalError(removal.operation, error)
    const found = `spec.target: Pawl cannot remove the item's objects from the previous Target "${targetName}": ${message}`
    const expected = `repair that Target, or annotate the item with ${WITHOUT_UNINSTALL}: "true" and delete it`
    throw new DeployError(operation, reason, `${found}; ${expected}`, codes)
  }
}

/** The Target that the item names. */
export function targetOf({ spec }: DeployItem): string | undefined {
  return spec.target?.name
}

const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'

function isSameServer(one: TargetCluster, other: TargetCluster): boolean {
  return one === other || one.kube.connection.server === other.kube.connection.server
}
