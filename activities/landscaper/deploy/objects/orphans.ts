// Orphans: objects in the status that the configuration does not list any more. Pure. Source: spec/landscaper.md 4.2 step 4.

import { type ManagedResource, resourceKey, withoutNamespace } from './managed-resources.ts'
import type { Manifest } from './manifest.ts'

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
