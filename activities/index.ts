// Creates all activities: the code that reads and writes outside of workflows. Workflows import its type only.
//
//   A1. Each error of the API server leaves an activity as an ApplicationFailure. It is converted here, and elsewhere
//       only where the activity handles the failure itself.
//   A2. Two activities never have the same name.

import type { FlagTable, FlagValues } from '../workflows/kit/index.ts'
import type { BeforeEnd, BeforeRelease, Deps } from './deps.ts'
import { toApplicationFailure } from './kube/errors.ts'
import { beginActivities } from './run/begin-job.ts'
import { finalizeActivities } from './run/finalize.ts'
import { observeActivities } from './run/level/observe.ts'
import { noticeActivities } from './run/level/notifications.ts'
import { emitEventsFirst } from './run/level/piggybacked-events.ts'
import { settleActivities } from './run/level/settle.ts'
import { turnActivities } from './run/level/pass-permits.ts'
import { writeActivities } from './run/level/write.ts'
import { statusActivities } from './run/settle.ts'
import type { ActivityFunctions, ActivityWing, OpenWing } from './wing.ts'
import { WINGS } from './wings.gen.ts'

export type { Deps } from './deps.ts'
export { ownActivities, type OwnFunctions } from './run/level/own-calls.ts'
export type { OpenWing } from './wing.ts'

type EngineActivities = ReturnType<typeof engineActivities>
type MadeBy<One> = One extends { open(...input: never): OpenWing<infer Made> } ? Made : never
type AllOf<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

/** Activities of the engine and of all wings. */
export type Activities = EngineActivities & AllOf<MadeBy<(typeof WINGS)[keyof typeof WINGS]>>

/** Opens a wing; undefined when it has no activities. */
export function openWing(name: string, deps: Deps, flags: FlagValues<FlagTable>): OpenWing | undefined {
  const wings: Readonly<Record<string, ActivityWing>> = WINGS
  return Object.hasOwn(wings, name) ? wings[name]?.open(deps, flags) : undefined
}

/**
 * Creates the activities of the engine and the wings, as the worker registers them.
 *
 * @param ofWings activities of each enabled wing.
 * @param beforeEnd hooks of all wings.
 * @param beforeRelease hooks of all wings.
 * @throws a plain Error (a bug) when two activities have one name (A2).
 */
export function createActivities<const Made extends readonly object[] = []>(
  deps: Deps,
  ofWings: Made,
  beforeEnd: BeforeEnd = {},
  beforeRelease: BeforeRelease = {},
): EngineActivities & AllOf<Made[number]> {
  const all = [engineActivities(deps, beforeEnd, beforeRelease), ...ofWings].flatMap((part) =>
    Object.entries(part as ActivityFunctions),
  )
  const names = all.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`two activities have the name ${twice}; give each activity a different name`)
  const leaving = all.map(([name, activity]) => [name, withFailures(activity)])
  return Object.fromEntries(leaving) as EngineActivities & AllOf<Made[number]>
}

function engineActivities(deps: Deps, beforeEnd: BeforeEnd, beforeRelease: BeforeRelease) {
  return {
    ...statusActivities(deps, beforeEnd),
    ...beginActivities(deps),
    ...finalizeActivities(deps, beforeRelease),
    ...emitEventsFirst(deps, { ...observeActivities(deps), ...writeActivities(deps) }),
    ...settleActivities(deps),
    ...turnActivities(deps),
    ...noticeActivities(deps),
  }
}

/** A1 */
function withFailures(activity: ActivityFunctions[string]): ActivityFunctions[string] {
  return async (...input) => {
    try {
      return await activity(...input)
    } catch (error) {
      throw toApplicationFailure(error)
    }
  }
}
