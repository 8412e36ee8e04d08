// The ownership labels by which a deployer recognizes its objects on a target, and the item of each object. Each deployer has its own labels, and never
// removes the objects of another deployer.

import { createHash } from 'node:crypto'

export interface OwnershipLabels {
  /** The field manager of all its writes on targets. */
  readonly fieldManager: string
  /** The label that names the DeployItem. Source: spec/landscaper.md 1.13, 4.2. */
  readonly label: string
  /** The annotation with the hash of the manifest that was written last. It is on the object itself, so that it always belongs to the same write. */
  readonly hash: string
}

/** The ownership labels of one item's objects. */
export interface ItemLabels {
  readonly ownership: OwnershipLabels
  /** The value of the label, see itemLabel. */
  readonly item: string
}

const MAX_LABEL_LENGTH = 63

/** The DeployItem's name as a label value: long names end in a hash. */
export function itemLabel(name: string): string {
  if (name.length <= MAX_LABEL_LENGTH) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10)
  return `${name.slice(0, MAX_LABEL_LENGTH - 1 - hash.length)}-${hash}`
}

/** Whether the labels name this item. */
export function isLabelled(
  labels: Readonly<Record<string, string>> | undefined,
  { ownership, item }: ItemLabels,
): boolean {
  return labels?.[ownership.label] === item
}
