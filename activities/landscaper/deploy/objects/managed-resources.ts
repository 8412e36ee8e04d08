// The objects of an item on its target, as stored in `status.providerStatus`. Pure.
//
//   M1. An object stays in the list until it is known to be deleted or to have another owner: until orphans are removed, the list has old and new
//       objects.
//
// Source: spec/landscaper.md 4.2 step 5, appendix B 31.

import { groupOf } from '../target/target-cluster.ts'
import { isName } from '../target/read-object.ts'
import { isMap, type Json } from './config-reader.ts'
import { type Manifest, POLICIES, type Policy } from './manifest.ts'

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

interface Known {
  readonly uid?: string | undefined
  readonly isNamespaced?: boolean
  /** The server has rejected its creation. */
  readonly isRefused?: boolean
  readonly applied?: Applied | undefined
}

/** The entry of a manifest's object in the status. */
export function managedResource(
  manifest: Manifest,
  { uid, isNamespaced = true, isRefused = false, applied }: Known,
): ManagedResource {
  const { policy, object, annotateBeforeDelete, patchBeforeDelete } = manifest
  const { apiVersion, kind, metadata } = object
  const { name, namespace } = metadata
  return {
    policy,
    resource: {
      apiVersion,
      kind,
      name,
      ...(namespace !== undefined && isNamespaced && { namespace }),
      ...(uid !== undefined && { uid }),
    },
    ...(Object.keys(annotateBeforeDelete).length > 0 && { annotateBeforeDelete }),
    ...(patchBeforeDelete !== undefined && { patchBeforeDelete }),
    ...(isRefused && { refused: true }),
    ...(applied !== undefined && { applied }),
  }
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

// Orphans: objects in the status that the configuration does not list any more. Pure. Source: spec/landscaper.md 4.2 step 4.

/** A listed object is no orphan, whatever its policy: with the new policy `ignore` it stays on the cluster. */
export function orphansOf(
  remembered: readonly ManagedResource[],
  manifests: readonly Manifest[],
): readonly ManagedResource[] {
  const listed = new Set(manifests.flatMap((manifest) => keysOf(manifest)))
  return remembered.filter(({ resource }) => !listed.has(resourceKey(resource)))
}

/** Whether a manifest's object is among them. */
export function isAmong(managed: readonly ManagedResource[]): (manifest: Manifest) => boolean {
  const keys = new Set(managed.map(({ resource }) => resourceKey(resource)))
  return (manifest) => keysOf(manifest).some((key) => keys.has(key))
}

/** The possible keys of the object in the status: only the cluster knows which kinds are cluster-scoped. */
export function keysOf({ object: { apiVersion, kind, metadata } }: Manifest): string[] {
  const { name, namespace } = metadata
  const bare = { apiVersion, kind, name }
  return [resourceKey(bare), ...(namespace === undefined ? [] : [resourceKey({ ...bare, namespace })])]
}

/** Adds the remembered uid, and the state of an object that runs once, to objects whose apply failed and so returned none. */
export function withKnownUids(
  sent: readonly ManagedResource[],
  remembered: readonly ManagedResource[],
): readonly ManagedResource[] {
  const known = new Map(remembered.map((managed) => [resourceKey(managed.resource), managed]))
  return sent.map((managed) => withUid(managed, known))
}

// Unlike a manifest that was not sent, the status knows which kinds are cluster-scoped.
function withUid(managed: ManagedResource, known: ReadonlyMap<string, ManagedResource>): ManagedResource {
  const { resource } = managed
  if (resource.uid !== undefined) return managed
  const bare = withoutNamespace(resource)
  for (const one of [resource, bare]) {
    const { resource: { uid } = {}, applied } = known.get(resourceKey(one)) ?? {}
    if (uid !== undefined) return { ...managed, resource: { ...one, uid }, ...(applied !== undefined && { applied }) }
  }
  return managed
}
