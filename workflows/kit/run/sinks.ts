// What a run tells its worker when its code throws what is neither a failure of the world nor the end of the run: a bug. In a replay it says that the
// code is another one than that which made the run (worker/reconciler/stuck-runs.ts). Types only.
// MERGED What a replay tells of a run: every signal, call and answer, and what the steps of its plans came to, in the order in which it happened. As data;
// loop/recording.ts tells it, worker/cli/replay listens. Source: docs/adr/0050.

import type { Subject } from './subject.ts'
import type { TracedStep } from '../plan/trace.ts'

export interface ReportedBug {
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
export type RunSinks = { readonly runs: { threw(thrown: ReportedBug): void } }

/** One entry. `atMs` is the time of the run, in milliseconds since 1970: that of the workflow task. */
export type ReplayEntry = { readonly atMs: number } & (
  | { readonly told: 'began'; readonly workflow: string; readonly input: unknown }
  | { readonly told: 'signal'; readonly name: string; readonly input: unknown }
  /** A pass begins; `isOutside`: something from outside asked for it, not the run's own due time. */
  | { readonly told: 'pass'; readonly pass: number; readonly isOutside: boolean }
  /** An activity is called; `action`: by which action of a plan, if by one. */
  | ReplayCall
  /** What a call came to; the failure of an activity is not that of the run. */
  | { readonly told: 'answer'; readonly call: number; readonly result?: unknown; readonly failure?: ReplayFailure }
  | { readonly told: 'timer'; readonly ms: number }
  /** A plan begins: of which object, and in which phase of its job. */
  | { readonly told: 'plan'; readonly plan: number; readonly subject?: Subject; readonly phase?: string }
  /** A step of a plan begins, or ends with what it came to: `done`, or what it said. */
  | { readonly told: 'step'; readonly plan: number; readonly name: string; readonly isLeaf: boolean }
  | {
      readonly told: 'stepped'
      readonly plan: number
      readonly name: string
      readonly isLeaf: boolean
      readonly said: string
    }
  /** A plan has ended, with what each of its steps came to. */
  | { readonly told: 'planned'; readonly plan: number; readonly trace: TracedStep }
  | {
      readonly told: 'ended'
      readonly result?: unknown
      readonly failure?: ReplayFailure
      readonly isContinued?: true
    }
)

export interface ReplayCall {
  readonly told: 'call'
  /** Counts the calls of a run, from 1. */
  readonly call: number
  readonly name: string
  /** It runs inside the workflow task. */
  readonly isLocal: boolean
  /** As Temporal's pages show it. */
  readonly summary?: string
  readonly action?: string
  readonly input: unknown
}

export interface ReplayFailure {
  readonly type: string
  readonly message: string
}

/** What the listener of a replay is told: an entry as JSON. */
export type ReplaySinks = { readonly replay: { told(entry: string): void } }

/** How task queues of replays begin: only there a run tells anything. */
export const REPLAY_QUEUE = 'pawl-replay'
