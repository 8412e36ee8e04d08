// `status.deployItemCache`: which DeployItem object belongs to which item, for people and for programs that read the original's status.
// Source: spec/landscaper.md 1.3.
//
//   C1. It rides on writes that happen anyway, the first of the job and the last of its items; it causes none of its own.
//   C2. Decisions are made without it: items are found by their labels.
//   C3. In the order of the specification: children come as they were made or read, which is another one after a crash.

import type { ExecutionPass } from './pass.ts'

/** Beyond that the names alone would be most of the status. */
const MOST_NAMES = 500

export function nameDeployItems({ state: { target, deployItems }, draft }: ExecutionPass): void {
  const place = new Map(target.items.map(({ name }, index) => [name, index]))
  const isActive = ({ item, deleting }: (typeof deployItems)[number]) => place.has(item) && !deleting
  const placeOf = ({ item }: (typeof deployItems)[number]) => place.get(item) ?? 0
  const active = deployItems.filter(isActive).sort((a, b) => placeOf(a) - placeOf(b))
  const activeDIs = active.map(({ item, name }) => ({ specName: item, objectName: name }))
  const orphanedDIs = deployItems
    .filter((item) => !isActive(item))
    .map(({ name }) => name)
    .sort()
  draft.fields['deployItemCache'] = deployItems.length > MOST_NAMES ? null : { activeDIs, orphanedDIs }
}
