// The object that a run reconciles: its reference, its status as all controllers see it, and the IDs of jobs and runs.
// Source: docs/adr/0022, docs/concepts/architecture.md "Writes, fields, errors".
//
//   I1. A run of a controller, object and job has one workflow ID, whichever process starts it: Temporal rejects the second start.
//   I2. Two runs never share a workflow ID, even with cut names: uid and job ID are never cut, and neither contains a '/'.
//   I3. The journal stores the workflow ID in the run's row, and other data of the run comes from this row. Code parses only the controller from an
//       ID:
// rows and open runs of earlier releases have IDs of the form `<controller>/<uid>/<jobID>`.

import type { HandledPartitions } from './partitions.ts'
import { byteLength, cutBytes } from './byte-limits.ts'

/** Reference to the object that a run reconciles. */
export interface Subject {
  /** API group, '' for Kubernetes' core. Inputs of runs of earlier releases lack it: the controller's kind gives the group then. */
  readonly group?: string
  readonly kind: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** The run and pass that act. With the step's name it identifies an action. It also names the partitions that the run handles. */
export interface By extends HandledPartitions {
  readonly workflowID: string
  readonly runID: string
  /** Counts from 1 in every run. */
  readonly pass: number
  /** Controller of a hosted object; absent for the run's own object. */
  readonly controller?: string
  /** uids of all objects whose job this run executes: writes to them and to their children are own writes. Absent: the run's object only. */
  readonly tree?: readonly string[]
}

/** An error in the status of an object. */
export interface ErrorReport {
  /** The failed operation. */
  readonly operation: string
  /** The reason in one CamelCase word. */
  readonly reason: string
  /** A sentence for users. */
  readonly message: string
  /** Error codes, where the wire format has them. */
  readonly codes?: readonly string[]
}

/** The fields that every controller reads of its object. */
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
  /** The status reports a bug (bug-condition.ts), which the next settled pass replaces. Absent: none. */
  readonly reportsBug?: true | undefined
}

export type TransitionMark = 'triggerTime' | 'initTime' | 'waitTime' | 'finishedTime'

/** Whether the object has no unfinished job: both job IDs are equal or absent. */
export function isIdle(target: {
  readonly jobID?: string | undefined
  readonly jobIDFinished?: string | undefined
}): boolean {
  // Without a valid job ID no job can run, regardless of jobIDFinished.
  return !isJobID(target.jobID) || target.jobID === target.jobIDFinished
}

/** Leaves space in a workflow ID for controller, uid and name. */
const LONGEST_BYTES = 128
// The characters that Temporal accepts, without '/', line breaks and control characters.
const JOB_ID = /^[^/\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u

/** Whether a job ID read from an object may become part of a workflow ID. Parents and users write job IDs; a UUID is valid. */
export function isJobID(value: unknown): value is string {
  return typeof value === 'string' && JOB_ID.test(value) && byteLength(value) <= LONGEST_BYTES
}

/** Why a job ID is invalid; undefined for a valid or absent ID. The message does not quote the value: any user may have written it. */
export function jobIDProblem(value: string | undefined): string | undefined {
  if (value === undefined || isJobID(value)) return undefined
  return `status.jobID is invalid; expected at most ${LONGEST_BYTES} bytes without "/", line breaks and other control characters`
}

/** The column width of workflow IDs in Temporal's SQL stores. */
const LONGEST = 255

/**
 * Returns `<controller>/<namespace>/<name>/<uid>/<jobID>` without empty parts: cluster-scoped kinds have no namespace, level mode has no job ID.
 * Namespace
 * and name are cut so that the ID has at most 255 bytes.
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

/** The controller in a workflow ID, also of earlier releases: the text before the first '/'. Empty for an ID without '/'. */
export function controllerInID(workflowID: string): string {
  return workflowID.slice(0, Math.max(0, workflowID.indexOf('/')))
}
