// Which texts are job IDs: they come from parents and from people, and become part of a workflow ID. A UUID is one.
// Source: docs/architecture.md "Writes, fields, errors".

import { byteLength } from './cut-bytes.ts'

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
