// What the activities of a wing are to the engine: opened when the worker starts with the wing on, closed when it ends.

import type { FlagTable, FlagValues, JsonValue } from '../workflows/kit/index.ts'
import type { BeforeEnd, BeforeRelease, Deps } from './deps.ts'
import type { Preview } from './run/preview.ts'
import type { ControllerObserver } from './run/controller-observer.ts'
import type { Notifiers } from './run/notifier.ts'

/** Activities by name, as Temporal registers them. */
export type ActivityFunctions = Readonly<Record<string, (...input: never) => Promise<unknown>>>

/** The value that `<wing>/wing.ts` exports. */
export interface ActivityWing<Flags extends FlagTable = FlagTable, Made extends object = object> {
  /** Makes what only this wing needs, by the values of its flags, and its activities upon that. */
  open(deps: Deps, flags: FlagValues<Flags>): OpenWing<Made>
}

export interface OpenWing<Made extends object = object> {
  readonly activities: Made
  readonly beforeEnd?: BeforeEnd
  readonly beforeRelease?: BeforeRelease
  /** For `pawl plan -f`; absent: of its kinds nobody can say more than the API server. */
  readonly foresight?: Preview
  /** For the own activities of its controllers in level mode, as `ActivityContext.parts`. */
  readonly parts?: unknown
  /** For the passes of its controllers in level mode, as `LevelPass.settings`: what the flags say, without secrets, for it stays in histories. */
  readonly settings?: JsonValue
  /** Whom it tells of the Events of its controllers in level mode; absent: nobody. */
  readonly notifiers?: Notifiers
  /** What it hears of its controllers in level mode; absent: nothing. */
  readonly observer?: ControllerObserver
  /** Gives back what `open` has made, when no activity is at work any more. */
  readonly close: () => Promise<void>
}
