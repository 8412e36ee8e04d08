// What a controller says of the fields that it writes, so that no other controller does. Source: seeds/chaos-mesh-controller-rules.txt
// "One controller per field". A test compares the declarations with each other and with `managedFields` in a live cluster.

import type { Path } from './projection.ts'

export interface OwnedFields {
  /** Name of the controller; its field manager is `pawl-<controller>`. */
  readonly controller: string
  /** By kind; a path stands for all that is below it. An entry of a list of texts, such as a finalizer, is a key of the list. */
  readonly fields: Readonly<Record<string, readonly Path[]>>
  /** Kinds of objects that it makes under names of its own: such an object is its maker's as a whole. */
  readonly makes: readonly string[]
}
