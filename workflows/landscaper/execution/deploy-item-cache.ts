// `status.deployItemCache`: which DeployItem object belongs to which item, for people and for programs that read the original's status.
// Source: spec/landscaper.md 1.3.
//
//   C1. It rides on writes that happen anyway, the first of the job and the last of its items; it causes none of its own.
//   C2. Decisions are made without it: items are found by their labels.

import type { ExecutionPass } from './pass.ts'

/** Beyond that the names alone would be most of the status. */
const MOST_NAMES = 500

export function nameDeployItems({ state: { target, deployItems }, draft }: ExecutionPass): void {
  const wanted = new Set(target.items.map(({ name }) => name))
  const isActive = ({ item, deleting }: (typeof deployItems)[number]) => wanted.has(item) && !deleting
  const active = deployItems.filter(isActive)
  const activeDIs = active.map(({ item, name }) => ({ specName: item, objectName: name }))
  const orphanedDIs = deployItems.filter((item) => !isActive(item)).map(({ name }) => name)
  draft.fields['deployItemCache'] = deployItems.length > MOST_NAMES ? null : { activeDIs, orphanedDIs }
}
