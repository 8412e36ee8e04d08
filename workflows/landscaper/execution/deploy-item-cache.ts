// Writes `status.deployItemCache`: the name of the DeployItem of each item, for users and for programs that read Landscaper's status.
// Source: spec/landscaper.md 1.3.
//
//   C1. The names are part of the first status write of a job and of the last write of its items; they cause no write of their own.
//   C2. No decision reads the names: the controller finds DeployItems by their labels.
//   C3. The names are in the order of the spec, because the order in which DeployItems were read differs after a crash.

import type { ExecutionPass } from './pass.ts'

/** Above this number of items the names would be most of the status. */
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
