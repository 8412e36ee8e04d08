// What a run tells its worker when its code throws what is neither a failure of the world nor the end of the run: a bug. In a replay it says that the
// code is another one than that which made the run (worker/reconciler/stuck-runs.ts). Types only.

import type { Subject } from './subject.ts'

export interface Thrown {
  readonly subject: Subject
  /** Empty in level mode. */
  readonly jobID: string
  /** It was thrown over what the run did before, where the code that did it threw nothing. */
  readonly isReplaying: boolean
  /** Of the error, such as `TypeError`. */
  readonly name: string
  readonly message: string
  /** With the files and lines of the sources. */
  readonly stack: string
}

/** What the worker listens to, in replays too. A worker that does not listen only logs. */
export type RunSinks = { readonly runs: { threw(thrown: Thrown): void } }
