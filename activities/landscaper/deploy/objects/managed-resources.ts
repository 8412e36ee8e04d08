// What an item has on its target, as `status.providerStatus` remembers it. Pure.
//
//   M1. Nothing is forgotten before it is known to be gone or handed on: until orphans are cleaned up, old and new are remembered together.
//
// Source: spec/landscaper.md 4.2 step 5, appendix B 31.

import { groupOf } from '../target/target-cluster.ts'
import { isName } from '../target/read-object.ts'
import { isMap, type Json } from './config-reader.ts'

export const POLICIES = ['manage', 'fallback', 'keep', 'ignore', 'immutable'] as const
export type Policy = (typeof POLICIES)[number]

/** A core ObjectReference; cluster-scoped without namespace. */
export interface ResourceRef {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace?: string
  /** Absent: sent or about to be, and not known to be there. */
  readonly uid?: string
}

export interface ManagedResource {
  readonly policy: Policy
  readonly resource: ResourceRef
  readonly annotateBeforeDelete?: Readonly<Record<string, string>>
  readonly patchBeforeDelete?: Json
  /** The server has forbidden to make it; of meaning only without uid, while it was never known to be there. */
  readonly refused?: true
  /** Of an object that runs once (run-once.ts): how it was applied. */
  readonly applied?: Applied
}

export interface Applied {
  readonly jobID: string
  /** A hash of the manifest. */
  readonly manifest: string
  /** The names of the custom readiness checks that the object satisfied when it was last seen. */
  readonly checks?: readonly string[]
}

/** Group, kind, namespace and name: versions of one group show the same object. */
export function resourceKey({ apiVersion, kind, namespace, name }: ResourceRef): string {
  return [groupOf(apiVersion), kind, namespace ?? '', name].join('|')
}

/** As references to objects of kinds without namespaces are. */
export function withoutNamespace({ apiVersion, kind, name, uid }: ResourceRef): ResourceRef {
  return { apiVersion, kind, name, ...(uid !== undefined && { uid }) }
}

/** The managed resources of an item's status; of entries that name no object nothing can be read. */
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

/** All of `newer`, and of `older` what is not among them. */
export function union(
  older: readonly ManagedResource[],
  newer: readonly ManagedResource[],
): readonly ManagedResource[] {
  const keys = new Set(newer.map(({ resource }) => resourceKey(resource)))
  return [...newer, ...older.filter(({ resource }) => !keys.has(resourceKey(resource)))]
}
