// The outcome of a step, and the join of several outcomes. Source: spec/kit.md 8 "Outcome: one value, one monoid".
//
//   O1. Joining is associative, and `done` is its identity.
//   O2. A join keeps every fault and the earliest requested pass: 0 ms ("now") beats any delay.
//   O3. A stop is not a fault. It ends a sequence and nothing else.
//   O4. A requested pass ends a sequence (`again`) or does not (`later`).

/** A failure that an outcome reports. */
export interface Fault {
  /** A stable code, for users and for matching; match codes, never messages. */
  readonly code: string
  readonly message: string
  /** True if a later try may succeed; false ends the job in its failed phase. */
  readonly retryable: boolean
  /** Further error codes of the wire format, for example from a failed child. */
  readonly codes?: readonly string[]
  /** For a final fault: the condition that becomes False in the status. */
  readonly condition?: FaultCondition
}

/** The condition that reports a fault in the status of an object. */
export interface FaultCondition {
  readonly type: string
  readonly reason: string
}

/** The result of a step. An outcome other than `done` and `later` ends a sequence. */
export interface Outcome {
  readonly faults: readonly Fault[]
  /** Delay in milliseconds until the requested pass; ends the sequence. 0 is now, undefined waits for a change. */
  readonly againMs: number | undefined
  /** The same without ending the sequence (O4). */
  readonly laterMs: number | undefined
  /** Reason for ending the sequence without a fault. */
  readonly stopped: string | undefined
}

/** Nothing to report: the identity of `joinOutcomes`. RFC: NoRequeue. */
export const done: Outcome = { faults: [], againMs: undefined, laterMs: undefined, stopped: undefined }

/**
 * Ends the sequence and requests a pass in `againMs` milliseconds (0 = now). RFC: RequeueImmediately, RequeueAfter.
 *
 * @throws a plain Error (a bug) for an invalid number: joined, it would hide all other requests (O2).
 */
export function again(againMs: number): Outcome {
  return { ...done, againMs: delay('again', againMs) }
}

/** Continues the sequence and requests a pass in `laterMs` milliseconds. @throws like `again`. */
export function later(laterMs: number): Outcome {
  return { ...done, laterMs: delay('later', laterMs) }
}

function delay(maker: string, ms: number): number {
  if (!Number.isFinite(ms)) throw new Error(`${maker}: found ${ms} ms; expected a finite number`)
  return Math.max(0, ms)
}

/** Ends the sequence without a fault; the next pass starts after a change. RFC: Exit. */
export function stop(reason: string): Outcome {
  return { ...done, stopped: reason }
}

/** A final fault: the job ends in its failed phase. @param codes further error codes of the wire format. */
export function fail(code: string, message: string, codes: readonly string[] = []): Outcome {
  return { ...done, faults: [{ code, message, retryable: false, ...(codes.length > 0 && { codes }) }] }
}

/** A fault that a later pass may not meet; the loop backs off. RFC: RequeueIfError. */
export function retryLater(code: string, message: string): Outcome {
  return { ...done, faults: [{ code, message, retryable: true }] }
}

/** Joins outcomes by the laws O1-O4: concatenates faults, takes the smallest delay and the first stop's reason. */
export function joinOutcomes(...outcomes: readonly Outcome[]): Outcome {
  return {
    faults: outcomes.flatMap((outcome) => outcome.faults),
    againMs: earliest(outcomes.map((outcome) => outcome.againMs)),
    laterMs: earliest(outcomes.map((outcome) => outcome.laterMs)),
    stopped: outcomes.find((outcome) => outcome.stopped !== undefined)?.stopped,
  }
}

/** Whether a sequence ends: on a fault, a stop, or `again`. */
export function interrupts(outcome: Outcome): boolean {
  return outcome.faults.length > 0 || outcome.againMs !== undefined || outcome.stopped !== undefined
}

/** Whether the outcome is exactly `done`, without `later`. */
export function isDone(outcome: Outcome): boolean {
  return !interrupts(outcome) && outcome.laterMs === undefined
}

/** The smallest requested delay, of `again` and `later`; undefined waits for a change. */
export function wishedMs({ againMs, laterMs }: Outcome): number | undefined {
  return earliest([againMs, laterMs])
}

function earliest(delays: readonly (number | undefined)[]): number | undefined {
  const wanted = delays.filter((delay) => delay !== undefined)
  return wanted.length === 0 ? undefined : Math.min(...wanted)
}
