// The marks by which a deployer knows on a target what it has applied, and for which item. Each deployer has marks of its own: what one has
// applied is never another's to remove.

import { createHash } from 'node:crypto'

export interface Brand {
  /** The field manager of all its writes on targets. */
  readonly fieldManager: string
  /** The label that names the DeployItem. Source: spec/landscaper.md 1.13, 4.2. */
  readonly label: string
  /** The annotation with the hash of the manifest that was last sent: on the object itself, so that it can never be of another write. */
  readonly hash: string
}

/** What the objects of one item carry. */
export interface ItemMark {
  readonly brand: Brand
  /** The value of the label, see itemLabel. */
  readonly item: string
}

const LONGEST_LABEL = 63

/** The DeployItem's name as a label value: names that are too long end in a hash. */
export function itemLabel(name: string): string {
  if (name.length <= LONGEST_LABEL) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10)
  return `${name.slice(0, LONGEST_LABEL - 1 - hash.length)}-${hash}`
}

/** Whether a label with these is there and is this item's. */
export function isMarked(labels: Readonly<Record<string, string>> | undefined, { brand, item }: ItemMark): boolean {
  return labels?.[brand.label] === item
}
