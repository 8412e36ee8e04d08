// Sinks: calls from a run to its worker. `RunSinks` report bugs; in a replay a bug means that the code differs from the
// code that made the history (worker/reconciler/stuck-runs.ts). `ReplaySinks` report each signal, call, answer and plan
// step of a replay in order; loop/recording.ts emits them and worker/cli/replay reads them. Source: docs/adr/0050.

import type { Subject } from './subject.ts'
import type { TracedStep } from '../plan/trace.ts'

export interface ReportedBug {
  readonly subject: Subject
  /** Empty in level mode. */
  readonly jobID: string
  /** The code threw while replaying earlier events, where the original code threw nothing. */
  readonly isReplaying: boolean
  /** The error's name, such as `TypeError`. */
  readonly name: string
  readonly message: string
  /** The step of the plan that threw; undefined outside of steps. */
  readonly step?: string | undefined
  /** Stack trace with source files and lines. */
  readonly stack: string
}

/** Workers register this sink, in replays too. A worker without it only logs. */
export type RunSinks = { readonly runs: { threw(thrown: ReportedBug): void } }

/**
 * One entry of a replay. `atMs` is the time of the workflow task in milliseconds since 1970. Bundles of other builds emit the same entries, so the
 * field
 * `told` and its values keep their spelling.
 */
export type ReplayEntry = { readonly atMs: number } & (
  | { readonly told: 'began'; readonly workflow: string; readonly input: unknown }
  | { readonly told: 'signal'; readonly name: string; readonly input: unknown }
  /** A pass begins. `isOutside`: an event or a user requested it, not the run's own due time. */
  | { readonly told: 'pass'; readonly pass: number; readonly isOutside: boolean }
  /** An activity call. `action`: the plan's action that makes it, if any. */
  | ReplayCall
  /** The result of a call. A failed activity does not fail the run. */
  | { readonly told: 'answer'; readonly call: number; readonly result?: unknown; readonly failure?: ReplayFailure }
  | { readonly told: 'timer'; readonly ms: number }
  /** A plan begins, with its object and the phase of the job. */
  | { readonly told: 'plan'; readonly plan: number; readonly subject?: Subject; readonly phase?: string }
  /** A step of a plan begins, or ends with its outcome as text (`done` if empty). */
  | { readonly told: 'step'; readonly plan: number; readonly name: string; readonly isLeaf: boolean }
  | {
      readonly told: 'stepped'
      readonly plan: number
      readonly name: string
      readonly isLeaf: boolean
      readonly said: string
    }
  /** A plan has ended, with the outcome of each step. */
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
  /** The activity is a local activity. */
  readonly isLocal: boolean
  /** The summary that the Temporal UI shows. */
  readonly summary?: string
  readonly action?: string
  readonly input: unknown
}

export interface ReplayFailure {
  readonly type: string
  readonly message: string
}

/** The replay's sink receives each entry as JSON. */
export type ReplaySinks = { readonly replay: { told(entry: string): void } }

/** Prefix of the task queues of replays. Runs on other queues emit no entries. */
export const REPLAY_QUEUE = 'pawl-replay'
