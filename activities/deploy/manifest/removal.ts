// Deletes resources by deletion groups: one call is one step in the first group that is not finished. Source: spec/landscaper.md 4.4.
//
//   G1. A group begins when the one before is gone. Resources of no group stay on the cluster.
//   G2. A failing delete stops nothing else of its group, and is told instead of a time-out (appendix B 36).

import type { ObjectList } from '../../kube/client.ts'
import { resourcePath } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import type { DeployError, ItemWork } from '../deployer.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { describeObject } from '../target/read-object.ts'
import type { ServedKind, TargetCluster } from '../target/target-cluster.ts'
import { type CustomGroup, type DeletionGroup, isInGroup, isKind, isNamed, type ResourceTypes } from './deletion-groups.ts'
import { type ManagedResource, resourceKey } from './managed-resources.ts'
import { attempt, joinedError, listed, type Problem } from './problems.ts'
import { type ObjectRemoval, removeObject } from './remove-object.ts'

const DELETES_AT_ONCE = 10
const PAGE_SIZE = '200'

export interface RemovalInput {
  readonly work: Pick<ItemWork, 'target' | 'openTarget' | 'signal'>
  /** `lastError.operation`. */
  readonly operation: string
  readonly label: string
  readonly resources: readonly ManagedResource[]
  readonly groups: readonly DeletionGroup[]
  /** Objects that no group takes even when it deletes all of a type. */
  readonly spared: readonly ManagedResource[]
}

export type RemovalStep =
  | { readonly result: 'gone' }
  | { readonly result: 'waiting'; readonly waitingFor: string }
  | { readonly result: 'failed'; readonly error: DeployError }

/** @throws KubeError, DeployError when targets and kinds cannot be asked for. */
export async function removalStep(input: RemovalInput): Promise<RemovalStep> {
  const { work, operation, groups } = input
  if (input.resources.length === 0) return { result: 'gone' }
  const placed = await withPlurals(work.target, input.resources)
  for (const [index, group] of groups.entries()) {
    const isOwn = ({ resource, plural }: (typeof placed)[number]) =>
      groups.findIndex((one) => isInGroup(one, resource.resource, plural)) === index
    const deletions = isOfAll(group)
      ? await allOf(input, group)
      : placed.filter(isOwn).map(({ resource }) => ({ target: work.target, managed: resource, label: input.label }))
    const step = await deleteAll({ operation, forceDelete: group.forceDelete, signal: work.signal }, deletions)
    if (step.result !== 'gone') return step
  }
  return { result: 'gone' }
}

type Deletion = Pick<ObjectRemoval, 'target' | 'managed' | 'label'>

async function deleteAll(
  how: { operation: string; forceDelete: boolean; signal: AbortSignal },
  deletions: readonly Deletion[],
): Promise<RemovalStep> {
  const waiting: string[] = []
  const problems: Problem[] = []
  await inParallel(deletions, DELETES_AT_ONCE, async (deletion) => {
    how.signal.throwIfAborted()
    const name = describeObject(deletion.managed.resource)
    const answer = await attempt(how.operation, name, () => removeObject({ ...deletion, ...how }))
    if (!('value' in answer)) problems.push(answer)
    else if (answer.value !== undefined) waiting.push(answer.value)
  })
  if (problems.length > 0) return { result: 'failed', error: joinedError(how.operation, problems) }
  return waiting.length > 0 ? { result: 'waiting', waitingFor: listed(waiting) } : { result: 'gone' }
}

async function withPlurals(target: TargetCluster, resources: readonly ManagedResource[]) {
  return await inParallel(resources, DELETES_AT_ONCE, async (resource) => {
    const served = await target.servedKind(resource.resource.apiVersion, resource.resource.kind)
    return { resource, plural: served?.plural }
  })
}

type AllGroup = CustomGroup & { readonly deleteAllResources: true }

const isOfAll = (group: DeletionGroup): group is AllGroup => group.type === 'custom' && group.deleteAllResources

/** Every object of the group's types, also those that no item has deployed; not what this item is to keep. */
async function allOf({ work, resources, spared }: RemovalInput, group: AllGroup): Promise<Deletion[]> {
  const target = group.targetName === undefined ? work.target : await work.openTarget(group.targetName)
  const isOwn = group.targetName === undefined
  const known = new Map((isOwn ? resources : []).map((managed) => [resourceKey(managed.resource), managed]))
  const kept = new Set((isOwn ? spared : []).map(({ resource }) => resourceKey(resource)))
  const found = await inParallel(group.resources, 1, (types) => objectsOf(target, types, work.signal))
  return found
    .flat()
    .filter(({ resource }) => !kept.has(resourceKey(resource)))
    .map((managed) => ({ target, managed: known.get(resourceKey(managed.resource)) ?? managed, label: undefined }))
}

async function objectsOf(target: TargetCluster, types: ResourceTypes, signal: AbortSignal): Promise<ManagedResource[]> {
  const served = await servedTypes(target, types, signal)
  if (served === undefined) return []
  const places = served.namespaced && types.namespaces.length > 0 ? types.namespaces : [undefined]
  const found = await inParallel(places, 1, (namespace) => allIn(target, resourcePath(served, namespace), signal))
  return found
    .flat()
    .filter(({ metadata }) => isNamed(types, metadata))
    .map(({ metadata: { name, namespace, uid } }) => ({
      policy: 'manage',
      resource: {
        ...{ apiVersion: served.apiVersion, kind: served.kind, name },
        ...(namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
      },
    }))
}

async function allIn({ kube }: TargetCluster, path: string, signal: AbortSignal): Promise<ObjectList['items']> {
  const items: ObjectList['items'][number][] = []
  let next: string | undefined
  do {
    const query = { limit: PAGE_SIZE, ...(next !== undefined && { continue: next }) }
    const list: ObjectList = await kube.request<ObjectList>('GET', path, { query, signal })
    items.push(...list.items)
    next = list.metadata.continue
  } while (next !== undefined && next !== '')
  return items
}

interface ApiResources {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

// By kind, else by the plural that examples write.
async function servedTypes(target: TargetCluster, types: ResourceTypes, signal: AbortSignal): Promise<ServedKind | undefined> {
  const { apiVersion, kind } = types
  const served = await target.servedKind(apiVersion, kind)
  if (served !== undefined) return served
  try {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { resources } = await target.kube.request<ApiResources>('GET', path, { signal })
    const found = resources.find((one) => !one.name.includes('/') && isKind(kind, one.kind, one.name))
    return found && { apiVersion, plural: found.name, kind: found.kind, namespaced: found.namespaced }
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
