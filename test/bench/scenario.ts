// What a scenario of the bench is and gives back. One file per scenario; scenarios.ts lists them.

import type { Servers } from '../../worker/dev/servers.ts'
import type { Options } from './options.ts'
import type { ProfiledWork } from './profile.ts'
import type { Say } from './progress.ts'
import type { Stage } from './stage.ts'
import type { YardsticksOfRun } from './yardsticks.ts'

export interface Scenario {
  /** One line for --help. */
  readonly summary: string
  /** Of its own set; undefined: those that `pawl dev` serves by itself. */
  readonly wings?: string | undefined
  readonly run: (stage: Stage) => Promise<ScenarioResult>
  /** Makes the set ready, once all of its parts run. It has to be the bench's own then. */
  readonly prepare?: ((servers: Servers) => Promise<void>) | undefined
  /** What `--profile` looks at. Default: the creation of Installations. */
  readonly profiled?: ProfiledWork
}

/** One that brings its servers and its Pawls along: a set beside it would do the same work. */
export interface LoneScenario {
  readonly summary: string
  /** @param interrupted rejects when the bench is to end, after which what was started has to be stopped within ten seconds. */
  readonly runAlone: (options: Options, say: Say, interrupted: Promise<never>) => Promise<ScenarioResult>
}

export interface ScenarioResult {
  /** What did not complete, one sentence each; the exit code is 0 only without any. */
  readonly failures: readonly string[]
  /** Sections of the report, in Markdown. */
  readonly report: (yardsticks: YardsticksOfRun | undefined) => readonly string[]
  /** Makes the figures of this run the baseline. Absent: the scenario has none. */
  readonly record?: (yardsticks: YardsticksOfRun) => Promise<void>
}
