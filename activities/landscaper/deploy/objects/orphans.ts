// What the status still remembers and the configuration does not list any more. Pure. Source: spec/landscaper.md 4.2 step 4.

import { type ManagedResource, resourceKey, type ResourceRef, withoutNamespace } from './managed-resources.ts'
import type { Manifest } from './manifest.ts'

/** An object that is listed is no orphan, whatever its policy: one that became `ignore` is let go of, not deleted. */
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

// The namespace of a cluster-scoped object means nothing; which kinds those are, only the cluster knows.
function keysOf({ object: { apiVersion, kind, metadata } }: Manifest): string[] {
  const { name, namespace } = metadata
  const bare = { apiVersion, kind, name }
  return [resourceKey(bare), ...(namespace === undefined ? [] : [resourceKey({ ...bare, namespace })])]
}

/** `sent` with the uid that an object had before, where sending it failed and so told none. */
export function withKnownUids(
  sent: readonly ManagedResource[],
  remembered: readonly ManagedResource[],
): readonly ManagedResource[] {
  const uids = new Map(remembered.map(({ resource }) => [resourceKey(resource), resource.uid]))
  return sent.map((managed) => {
    const resource = withUid(managed.resource, uids)
    return resource === managed.resource ? managed : { ...managed, resource }
  })
}

// The status knows, other than a manifest whose object was not sent, in which kinds there are no namespaces.
function withUid(resource: ResourceRef, uids: ReadonlyMap<string, string | undefined>): ResourceRef {
  if (resource.uid !== undefined) return resource
  const bare = withoutNamespace(resource)
  const [uid, ofBare] = [uids.get(resourceKey(resource)), uids.get(resourceKey(bare))]
  if (uid !== undefined) return { ...resource, uid }
  return ofBare === undefined ? resource : { ...bare, uid: ofBare }
}
