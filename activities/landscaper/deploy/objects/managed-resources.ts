// The objects of an item on its target, as stored in `status.providerStatus`. Pure.
//
//   M1. An object stays in the list until it is known to be deleted or to have another owner: until orphans are removed, the list has old and new
//       objects.
//
// Source: spec/landscaper.md 4.2 step 5, appendix B 31.

import { groupOf } from '../target/target-cluster.ts'
import { isName } from '../target/read-object.ts'
import { isMap, type Json } from './config-reader.ts'

export const POLICIES = ['manage', 'fallback', 'keep', 'ignore', 'immutable'] as const
export type Policy = (typeof POLICIES)[number]

/** A core ObjectReference; cluster-scoped objects have no namespace. */
export interface ResourceRef {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  /** Absent: the object was sent, or was about to be sent, and is not known to exist. */
  readonly uid?: string
}

export interface ManagedResource {
  readonly policy: Policy
  readonly resource: ResourceRef
  readonly annotateBeforeDelete?: Readonly<Record<string, string>>
  readonly patchBeforeDelete?: Json
  /** The server has rejected its creation; only meaningful without uid, while it was never known to exist. */
  readonly refused?: true
  /** For an object that runs once (run-once.ts): the job that applied it. */
  readonly applied?: Applied
}

export interface Applied {
  readonly jobID: string
  /** A hash of the manifest. */
  readonly manifest: string
  /** The names of the custom readiness checks that the last observation of the object satisfied. */
  readonly checks?: readonly string[]
}

/** Group, kind, namespace and name: the versions of a group represent the same object. */
export function resourceKey({ apiVersion, kind, namespace, name }: ResourceRef): string {
  return [groupOf(apiVersion), kind, namespace ?? '', name].join('|')
}

/** The reference of a cluster-scoped object. */
export function withoutNamespace({ apiVersion, kind, name, uid }: ResourceRef): ResourceRef {
  return { apiVersion, kind, name, ...(uid !== undefined && { uid }) }
}

/** The managed resources of an item's status, without entries that name no object. */
export function readManaged(providerStatus: unknown): readonly ManagedResource[] {
  const entries = isMap(providerStatus) ? providerStatus['managedResources'] : undefined
  return Array.isArray(entries) ? entries.flatMap((entry: unknown) => readEntry(entry) ?? []) : []
}

function readEntry(entry: unknown): ManagedResource | undefined {
  if (!isMap(entry)) return undefined
  // The oldest form is a list of plain references.
  const resource = readRef(isMap(entry['resource']) ? entry['resource'] : entry)
  if (resource === undefined) return undefined
  const { annotateBeforeDelete, patchBeforeDelete, refused } = entry
  return {
    policy: POLICIES.find((one) => one === entry['policy']) ?? 'manage',
    resource,
    ...(isTextMap(annotateBeforeDelete) && { annotateBeforeDelete }),
    ...(isMap(patchBeforeDelete) && { patchBeforeDelete }),
    ...(refused === true && { refused }),
    ...readApplied(entry['applied']),
  }
}

function readApplied(value: unknown): Pick<ManagedResource, 'applied'> {
  if (!isMap(value)) return {}
  const { jobID, manifest, checks } = value
  if (typeof jobID !== 'string' || !isText(manifest)) return {}
  return { applied: { jobID, manifest, ...(Array.isArray(checks) && { checks: checks.filter(isText) }) } }
}

function readRef({ apiVersion, kind, name, namespace, uid }: Json): ResourceRef | undefined {
  if (!isText(apiVersion) || !isText(kind) || !isText(name) || !isName(name)) return undefined
  if (isText(namespace) && !isName(namespace)) return undefined
  return { apiVersion, kind, name, ...(isText(namespace) && { namespace }), ...(isText(uid) && { uid }) }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isTextMap = (value: unknown): value is Readonly<Record<string, string>> =>
  isMap(value) && Object.values(value).every((text) => typeof text === 'string')

/** All of `newer`, and the entries of `older` that it does not have. */
export function union(
  older: readonly ManagedResource[],
  newer: readonly ManagedResource[],
): readonly ManagedResource[] {
  const keys = new Set(newer.map(({ resource }) => resourceKey(resource)))
  return [...newer, ...older.filter(({ resource }) => !keys.has(resourceKey(resource)))]
}
