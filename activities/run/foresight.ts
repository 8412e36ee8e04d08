// What a wing can say to `pawl plan -f` beside the plans of its controllers.

import type { DryWrite } from '../kube/dry-run.ts'

/** What applying something would do beyond the cluster of its objects, and how that is shown to people. */
export interface Foresight {
  /** What would become of children that others than their controllers work on, by the names of their objects. Writes nothing. */
  foreseeItems(namespace: string, names: readonly string[]): Promise<readonly ForeseenWork[]>
  /** Fields that differ from job to job and say nothing, as paths with dots. A whole annotation or label is one name behind `metadata.annotations.`. */
  readonly incidental: readonly string[]
  /** Fields whose values nobody is shown, by kind, as `incidental`. */
  readonly concealed: Readonly<Record<string, readonly string[]>>
}

export interface ForeseenWork {
  readonly name: string
  /** It would fail of this. */
  readonly problem?: string
  /** Why nobody can say what becomes of it. */
  readonly unknown?: string
  /** Where `writes` would be. */
  readonly target?: string
  readonly writes: readonly DryWrite[]
}
