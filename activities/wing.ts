// The interface of a wing's activities: opened when a worker with the wing starts, closed when it ends.

import type { FlagTable, FlagValues, JsonValue } from '../workflows/kit/index.ts'
import type { BeforeEnd, BeforeRelease, Deps } from './deps.ts'
import type { Preview } from './run/preview.ts'
import type { ControllerObserver } from './run/controller-observer.ts'
import type { Notifiers } from './run/notifier.ts'

/** Activities by name, as Temporal registers them. */
export type ActivityFunctions = Readonly<Record<string, (...input: never) => Promise<unknown>>>

/** The value that `<wing>/wing.ts` exports. */
export interface ActivityWing<Flags extends FlagTable = FlagTable, Made extends object = object> {
  /** Creates the wing's resources from the values of its flags, and its activities. */
  open(deps: Deps, flags: FlagValues<Flags>): OpenWing<Made>
}

export interface OpenWing<Made extends object = object> {
  readonly activities: Made
  readonly beforeEnd?: BeforeEnd
  readonly beforeRelease?: BeforeRelease
  /** Preview for `pawl plan -f`; absent: the preview shows only the API server's dry run. */
  readonly foresight?: Preview
  /** Value of `ActivityContext.parts` for the own activities of its level-mode controllers. */
  readonly parts?: unknown
  /**
   * Value of `LevelPass.settings` for passes of its level-mode controllers: values of flags, without secrets, because
   * histories contain it.
   */
  readonly settings?: JsonValue
  /** Receivers of notifications about Events of its level-mode controllers; absent: none. */
  readonly notifiers?: Notifiers
  /** Hooks for its level-mode controllers; absent: none. */
  readonly observer?: ControllerObserver
  /** Releases the resources of `open` when no activity runs any more. */
  readonly close: () => Promise<void>
}
