// The objects that a load creates: Installations or Disruptions (`installations.ts`, `disruptions.ts`).

import type { KubeClient, ObjectList } from '../../../activities/kube/client.ts'
import { inParallel } from '../../../activities/kube/in-parallel.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import type { LsObject } from '../../support/cluster/cluster.ts'
import type { WatchedResource } from '../informer.ts'
import type { BenchSet } from '../servers.ts'

export const OPERATIONS = ['create', 'reconcile', 'delete'] as const
export type Operation = (typeof OPERATIONS)[number]

export const DEPLOYERS = ['mock', 'manifest', 'disruption'] as const
/** `mock` and `manifest`: Installations with items of this deployer. `disruption`: Disruptions. */
export type Deployer = (typeof DEPLOYERS)[number]

/** `wide`: independent items; `chain`: each item depends on the one before it. */
export type Shape = 'wide' | 'chain'

export interface Plan {
  /** The number of Installations or Disruptions. */
  readonly objects: number
  /** The number of items of each Installation, or the number of pods among which the Disruptions select theirs. */
  readonly items: number
  readonly shape: Shape
  readonly deployer: Deployer
  /** Over how many namespaces the objects are spread; default 1. */
  readonly namespaces?: number
}

/** Where the objects of a load are. */
export interface Place {
  readonly kube: KubeClient
  readonly set: Pick<BenchSet, 'kubeconfigPath'>
  readonly namespaces: readonly string[]
}

/** A number of objects in the cluster after an operation. */
export type ExpectedCount = readonly [what: string, count: number, expected: number]

export interface Subject {
  readonly resource: WatchedResource
  readonly operations: readonly Operation[]
  /** Creates the objects that all objects of the load use. */
  readonly prepare: (place: Place, plan: Plan) => Promise<void>
  readonly body: (plan: Plan, index: number, namespace: string) => LsObject
  /** Undefined: the operation has not ended. @param jobBefore the job of the object before the operation. */
  readonly endOf: (
    operation: Operation,
    object: LsObject,
    before: { readonly isDeleted: boolean; readonly jobBefore: string | undefined },
  ) => 'succeeded' | 'failed' | undefined
  /** @param jobIDs the newest job of each object. */
  readonly counts: (
    place: Place,
    plan: Plan,
    after: { readonly operation: Operation; readonly jobIDs: ReadonlySet<string> },
  ) => Promise<readonly ExpectedCount[]>
}

/** Parallel requests. */
export const PARALLEL = 16

/** Creates many objects. */
export async function createAll(kube: KubeClient, path: string, bodies: readonly object[]): Promise<void> {
  await inParallel(bodies, PARALLEL, async (body) => await kube.request('POST', path, { body }))
}

/** The objects of a resource in all namespaces of the load. */
export async function listAll({ kube, namespaces }: Place, resource: WatchedResource): Promise<readonly LsObject[]> {
  const lists = namespaces.map((name) => kube.request<ObjectList>('GET', resourcePath(resource, name)))
  return (await Promise.all(lists)).flatMap(({ items }) => items)
}
