// One object that an item deploys, and its options. Deployers create manifests from their configurations, and apply.ts applies them.

import type { Json } from './config-reader.ts'
import type { Applied, ManagedResource, Policy } from './managed-resources.ts'
import type { Desired } from './manifest-object.ts'

/**
 * How a live object is changed to match its manifest. Source: spec/landscaper.md 4.2 "updateStrategy", where `replace`, which keeps no fields of other
 * managers, is called `update`.
 */
export const STRATEGIES = ['update', 'patch', 'merge', 'mergeOverwrite', 'replace'] as const
export type UpdateStrategy = (typeof STRATEGIES)[number]

/** Whether an applied object that is missing is created again. */
export const RECREATIONS = ['always', 'perJob', 'never'] as const
export type Recreation = (typeof RECREATIONS)[number]

/** One object and its options. Annotations and patches contain user content. */
export interface Manifest {
  readonly policy: Policy
  readonly object: Desired
  readonly annotateBeforeCreate: Readonly<Record<string, string>>
  readonly annotateBeforeDelete: Readonly<Record<string, string>>
  readonly patchAfterDeployment: Json | undefined
  readonly patchBeforeDelete: Json | undefined
  /** Undefined: the default of its kind (run-once.ts). */
  readonly recreate: Recreation | undefined
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
