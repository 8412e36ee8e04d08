// What a step reports, and how several reports become one. Source: spec/kit.md 8 "Outcome: one value, one monoid".
//
//   O1. Joining is associative, and `done` is its identity.
//   O2. A join forgets no fault and postpones no wake-up: 0 ms ("now") beats any delay.
//   O3. A stop is not a fault. It ends a sequence and nothing else.
//   O4. A wish to come again ends a sequence (`again`) or does not (`later`). Either way the next pass comes by then.

export interface Fault {
  /** Stable code, for people and for matching; never the text. */
  readonly code: string
  readonly message: string
  /** True when trying again later may help; false ends the job in its failed phase. */
  readonly retryable: boolean
  /** Further codes of the wire format, such as those of what failed below. */
  readonly codes?: readonly string[]
  /** Of a final fault: what it makes False in the status, beside the error. */
  readonly condition?: FaultCondition
}

export interface FaultCondition {
  readonly type: string
  readonly reason: string
}

export interface Outcome {
  readonly faults: readonly Fault[]
  /** Delay in milliseconds before the next pass is wanted, and nothing before it; 0 is now, undefined is "when something changes". */
  readonly againMs: number | undefined
  /** The same of a pass that is wanted, whatever else this one does (O4). */
  readonly laterMs: number | undefined
  /** Why the sequence ended early although nothing is wrong. */
  readonly stopped: string | undefined
}

/** Nothing to report: the identity of `joinOutcomes`. RFC: NoRequeue. */
export const done: Outcome = { faults: [], againMs: undefined, laterMs: undefined, stopped: undefined }

/**
 * Stop here, and come again: another pass is wanted in `againMs` milliseconds (0 = now). RFC: RequeueImmediately, RequeueAfter.
 *
 * @throws a plain Error (a bug) for what is no number of milliseconds: joined, it would hide every other wish (O2).
 */
export function again(againMs: number): Outcome {
  return { ...done, againMs: delay('again', againMs) }
}

/** Go on, but come again: a sequence goes on with its next step, and another pass is wanted in `laterMs` milliseconds. @throws as `again`. */
export function later(laterMs: number): Outcome {
  return { ...done, laterMs: delay('later', laterMs) }
}

function delay(maker: string, ms: number): number {
  if (!Number.isFinite(ms)) throw new Error(`${maker} has ${ms} ms; expected a finite number`)
  return Math.max(0, ms)
}

/** Ends the sequence without a fault; the next pass comes when something changes. RFC: Exit. */
export function stop(reason: string): Outcome {
  return { ...done, stopped: reason }
}

/** A final fault: the job ends in its failed phase. @param codes further ones of the wire format. */
export function fail(code: string, message: string, codes: readonly string[] = []): Outcome {
  return { ...done, faults: [{ code, message, retryable: false, ...(codes.length > 0 && { codes }) }] }
}

/** A fault that a later pass may not meet again; the loop backs off. RFC: RequeueIfError. */
export function retryLater(code: string, message: string): Outcome {
  return { ...done, faults: [{ code, message, retryable: true }] }
}

/** Joins reports by the laws O1-O4: faults concatenate, delays take the minimum, the first stop's reason is kept. */
export function joinOutcomes(...outcomes: readonly Outcome[]): Outcome {
  return {
    faults: outcomes.flatMap((outcome) => outcome.faults),
    againMs: earliest(outcomes.map((outcome) => outcome.againMs)),
    laterMs: earliest(outcomes.map((outcome) => outcome.laterMs)),
    stopped: outcomes.find((outcome) => outcome.stopped !== undefined)?.stopped,
  }
}

/** Whether a sequence ends here: on a fault, a stop, or a wish for another pass. */
export function interrupts(outcome: Outcome): boolean {
  return outcome.faults.length > 0 || outcome.againMs !== undefined || outcome.stopped !== undefined
}

/** Whether nothing is reported, not even a wish to come again later. */
export function isDone(outcome: Outcome): boolean {
  return !interrupts(outcome) && outcome.laterMs === undefined
}

/** When the next pass is wanted, for whichever reason; undefined: when something changes. */
export function wishedMs({ againMs, laterMs }: Outcome): number | undefined {
  return earliest([againMs, laterMs])
}

function earliest(delays: readonly (number | undefined)[]): number | undefined {
  const wanted = delays.filter((delay) => delay !== undefined)
  return wanted.length === 0 ? undefined : Math.min(...wanted)
}
