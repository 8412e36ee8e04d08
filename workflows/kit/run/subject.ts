// The object whose job it is: its name, what every controller sees of it, and who acts on it.
// MERGED Which texts are job IDs: they come from parents and from people, and become part of a workflow ID. A UUID is one.
// Source: docs/architecture.md "Writes, fields, errors".
// MERGED How runs are called in Temporal: first what people know, last what makes an ID the only one of its name. Source: docs/adr/0022.
//
//   I1. A controller's run of a subject and job has one ID, whoever starts it: Temporal refuses the second start.
//   I2. Two runs never share one, also where names were cut: uid and job ID stay whole, and neither has a '/'.
//   I3. An ID is stored with its run, and what is asked of the run is asked of its row. Nothing is taken out of an ID again but the
//       controller: rows and open runs of former workers have IDs of another shape, `<controller>/<uid>/<jobID>`.

import type { HandledPartitions } from './partitions.ts'
import { byteLength, cutBytes } from './byte-limits.ts'

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
export interface By extends HandledPartitions {
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

/** Leaves room in a workflow ID for a controller, a uid and a name (workflow-id.ts). */
const LONGEST_BYTES = 128
// What Temporal takes, without what ends a part of a workflow ID or a line.
const JOB_ID = /^[^/\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u

/** Whether a job ID read from an object may become part of a workflow ID. */
export function isJobID(value: unknown): value is string {
  return typeof value === 'string' && JOB_ID.test(value) && byteLength(value) <= LONGEST_BYTES
}

/** Why a job ID starts nothing; undefined when it is one, or when there is none. The value stays out: anybody may write it. */
export function jobIDProblem(value: string | undefined): string | undefined {
  if (value === undefined || isJobID(value)) return undefined
  return `status.jobID is not a job ID; expected a text of at most ${LONGEST_BYTES} bytes without "/" and without line breaks or other control characters`
}

/** What Temporal's stores in SQL have room for. */
const LONGEST = 255

/**
 * `<controller>/<namespace>/<name>/<uid>/<jobID>`, of which what is empty is left out: the namespace of a kind that has none, the job ID in
 * level mode. Namespace and name are cut to what the others leave of 255 bytes.
 */
export function workflowIDOf(
  controller: string,
  { namespace, name, uid }: Pick<Subject, 'namespace' | 'name' | 'uid'>,
  jobID: string,
): string {
  const place = joined(namespace, name)
  const end = joined(uid, jobID)
  const room = LONGEST - byteLength(`${controller}//${end}`)
  return joined(controller, cutBytes(place, room).replace(/\/+$/, ''), end)
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('/')
}

/** The controller whose run has this ID, also one of a former worker: what stands before the first '/'. Empty when there is none. */
export function controllerInID(workflowID: string): string {
  return workflowID.slice(0, Math.max(0, workflowID.indexOf('/')))
}
