// The managed resources of a deploy item: the list, in `status.providerStatus`, of the objects that the item has
// deployed to its target cluster. Pure.
//
//   M1. An object stays in the list until it is known to be deleted or to have another owner: until orphans are
//       removed, the list has old and new objects.
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
  /**
   * The API server has answered the apply with 403 Forbidden. Used only without `uid`: if the removal may not read the
   * object either (403), the object counts as never created.
   */
  readonly refused?: true
  /** For an object that runs once (run-once.ts): the job that applied it. */
  readonly applied?: Applied
}

export interface Applied {
  readonly jobID: string
  /** A hash of the manifest. The name of the field is part of stored statuses. */
  readonly manifest: string
  /** The names of the custom readiness checks that the last observation of the object satisfied. */
  readonly checks?: readonly string[]
}

/** Facts about the object that its manifest does not have; empty if the object was not sent. */
interface Known {
  readonly uid?: string | undefined
  /** Absent: unknown; the entry has the manifest's namespace. */
  readonly isNamespaced?: boolean
  /** The API server has answered the apply with 403 Forbidden. */
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

/** Drops the namespace, which a manifest may have although its kind is cluster-scoped. */
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

/** All entries of `newer`, and the entries of `older` for objects that are not in `newer`. */
export function union(
  older: readonly ManagedResource[],
  newer: readonly ManagedResource[],
): readonly ManagedResource[] {
  const keys = new Set(newer.map(({ resource }) => resourceKey(resource)))
  return [...newer, ...older.filter(({ resource }) => !keys.has(resourceKey(resource)))]
}

/**
 * Returns the orphans: objects in the item's status that the configuration does not list any more. An object that is
 * listed with the new policy `ignore` is not an orphan: it stays on the cluster. Source: spec/landscaper.md 4.2 step 4.
 *
 * @param remembered the managed resources in the item's status.
 */
export function orphansOf(
  remembered: readonly ManagedResource[],
  manifests: readonly Manifest[],
): readonly ManagedResource[] {
  const listed = new Set(manifests.flatMap((manifest) => keysOf(manifest)))
  return remembered.filter(({ resource }) => !listed.has(resourceKey(resource)))
}

/** Returns a function that checks whether a manifest's object is in the list. */
export function isAmong(managed: readonly ManagedResource[]): (manifest: Manifest) => boolean {
  const keys = new Set(managed.map(({ resource }) => resourceKey(resource)))
  return (manifest) => keysOf(manifest).some((key) => keys.has(key))
}

/**
 * The keys that the object may have in the status: without namespace if its kind is cluster-scoped, otherwise with the
 * manifest's namespace. Only the cluster knows the scope of a kind.
 */
export function keysOf({ object: { apiVersion, kind, metadata } }: Manifest): string[] {
  const { name, namespace } = metadata
  const bare = { apiVersion, kind, name }
  return [resourceKey(bare), ...(namespace === undefined ? [] : [resourceKey({ ...bare, namespace })])]
}

/**
 * Completes entries without uid, whose apply failed, by the entries of the status: with the uid, and with `applied` of
 * an object that runs once.
 *
 * @param sent the managed resources after the apply.
 * @param remembered the managed resources in the item's status.
 */
export function withKnownUids(
  sent: readonly ManagedResource[],
  remembered: readonly ManagedResource[],
): readonly ManagedResource[] {
  const known = new Map(remembered.map((managed) => [resourceKey(managed.resource), managed]))
  return sent.map((managed) => withUid(managed, known))
}

// A manifest may have a namespace although its kind is cluster-scoped; the entry in the status then has none. So both
// keys are tried, and the reference of the status is used.
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
