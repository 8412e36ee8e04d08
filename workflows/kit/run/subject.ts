// The object whose job it is: its name, what every controller sees of it, and who acts on it.

import { isJobID } from './job-id.ts'
import type { Serving } from './lanes.ts'

/** The object whose job it is. */
export interface Subject {
  /** API group of the kind, '' for Kubernetes' core. Inputs of runs that a former worker started lack it: then it is that of the controller's kind. */
  readonly group?: string
  readonly kind: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** Which run and pass acts, with the step's name the key of every action; and what the run serves. */
export interface By extends Serving {
  readonly workflowID: string
  readonly runID: string
  /** Counts from 1 in every run. */
  readonly pass: number
  /** Of the object whose pass it is, where that is hosted by the run of another one; absent: the run's own. */
  readonly controller?: string
  /** uids of all objects whose job this run runs: what it writes of them or of their children is its own. Absent: of its subject only. */
  readonly tree?: readonly string[]
}

/** What a status says of the faults of a job. */
export interface ErrorReport {
  /** What was being done. */
  readonly operation: string
  /** Why, in one CamelCase word. */
  readonly reason: string
  /** Why, in a sentence for people. */
  readonly message: string
  /** Where the wire format has codes for what went wrong. */
  readonly codes?: readonly string[]
}

/** What every controller sees of its subject. */
export interface TargetView {
  readonly version: string
  readonly generation: number
  readonly deleting: boolean
  readonly finalizers: readonly string[]
  readonly phase: string | undefined
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
  readonly observedGeneration: number
  readonly lastError: ErrorReport | undefined
}

export type TransitionMark = 'triggerTime' | 'initTime' | 'waitTime' | 'finishedTime'

/** Ours, running or not: jobs are idle when both IDs are equal or absent. */
export function isIdle(target: {
  readonly jobID?: string | undefined
  readonly jobIDFinished?: string | undefined
}): boolean {
  // Without a job ID, or with a text that is none, there is nothing that could run, whatever a hand has left in jobIDFinished.
  return !isJobID(target.jobID) || target.jobID === target.jobIDFinished
}
