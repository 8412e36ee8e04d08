// The previews that a wing adds to `pawl plan -f`, in addition to the plans of its controllers.

import type { KubeObject } from '../kube/client.ts'
import type { DryWrite } from '../kube/dry-run.ts'

/** Effects of applied manifests on other clusters, and how they are shown to users. */
export interface Preview {
  /** Previews the named children that deployers process. Writes nothing. */
  foreseeItems(namespace: string, names: readonly string[]): Promise<readonly ItemPreview[]>
  /**
   * The existing root objects that import at least one of these objects of the namespace. Their next job uses the new content.
   *
   * @throws KubeError if the user may not list the roots.
   */
  importersOf(namespace: string, objects: readonly KubeObject[]): Promise<readonly Importer[]>
  /** Fields that differ from job to job and are not shown, as paths with dots. An annotation or label is one name after `metadata.annotations.`. */
  readonly incidental: readonly string[]
  /** Fields whose values are redacted, by kind, in the form of `incidental`. */
  readonly concealed: Readonly<Record<string, readonly string[]>>
  /**
   * Bookkeeping of controllers and deployers in any object, in the form of `incidental`: shown on request only. A
   * finalizer is one name after `metadata.finalizers.`.
   */
  readonly internal: readonly string[]
  /** The same for objects that controllers create, by kind. */
  readonly internalOfChildren: Readonly<Record<string, readonly string[]>>
}

export interface Importer {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The imported ones of the given objects, such as `ConfigMap settings`. */
  readonly imports: readonly string[]
}

export interface ItemPreview {
  readonly name: string
  /** The error with which the item would fail. */
  readonly problem?: string
  /** Why the result cannot be predicted. */
  readonly unknown?: string
  /** Set if no deployer handles the item's type: this type, and the handled types. */
  readonly unhandled?: { readonly type: string; readonly handled: readonly string[] }
  /** Target of `writes`. */
  readonly target?: string
  readonly writes: readonly DryWrite[]
}
