// One object that an item wants on its target, and what is done with it: what deployers make of their configurations, and apply.

import type { Json } from './config-reader.ts'
import type { Applied, ManagedResource, Policy } from './managed-resources.ts'
import type { Desired } from './manifest-object.ts'

/**
 * How a live object becomes what a manifest says. Source: spec/landscaper.md 4.2 "updateStrategy", where `replace`, which keeps nothing of other field
 * managers, is called `update`.
 */
export const STRATEGIES = ['update', 'patch', 'merge', 'mergeOverwrite', 'replace'] as const
export type UpdateStrategy = (typeof STRATEGIES)[number]

/** Whether an object that was applied and is missing now is created again. */
export const RECREATIONS = ['always', 'perJob', 'never'] as const
export type Recreation = (typeof RECREATIONS)[number]

/** One object and what is done with it. Annotations and patches hold user content. */
export interface Manifest {
  readonly policy: Policy
  readonly object: Desired
  readonly annotateBeforeCreate: Readonly<Record<string, string>>
  readonly annotateBeforeDelete: Readonly<Record<string, string>>
  readonly patchAfterDeployment: Json | undefined
  readonly patchBeforeDelete: Json | undefined
  /** Undefined: as its kind does (run-once.ts). */
  readonly recreate: Recreation | undefined
}

interface Known {
  readonly uid?: string | undefined
  readonly isNamespaced?: boolean
  /** The server has forbidden to make it. */
  readonly isRefused?: boolean
  readonly applied?: Applied | undefined
}

/** A manifest's object as the status remembers it. */
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
