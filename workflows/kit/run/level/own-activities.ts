// Own activities of a controller: work besides Kubernetes. Declared here, called by passes (loop/own-calls.ts), executed by the worker
// (activities/run/level/own-calls.ts). Pure: only the worker calls the function that imports the module, because imports of passes become part of the
// workflow bundle.
//
//   A1. The module exports exactly the declared async functions: the compiler compares the names, and the worker does at its start.
//   A2. Input and result are JSON and stored in the history: Secret values by reference only, and at most `MOST_CALL_BYTES` each.

import type { SecretGap, WithSecrets } from './secret-values.ts'
import type { Subject } from '../subject.ts'
import type { FlagTable, FlagValues } from '../wing.ts'

/** Temporal would retry a larger payload forever. */
export const MOST_CALL_BYTES = 1_500_000

/** `AbortSignal` where the program has this type, from Node or a browser: the kit itself needs neither. */
export type Signal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Of } }
  ? Of
  : { readonly aborted: boolean }

/** The second parameter of an activity. */
export interface ActivityContext {
  /** The object whose pass made the call. */
  readonly subject: Subject
  /** Equal in all tries of one call and unique per call, for example for the HTTP header `Idempotency-Key`. */
  readonly callID: string
  /** 1 for the first try. */
  readonly attempt: number
  /** The worker's flags of the controller's wing; absent for controllers of users. */
  readonly flags?: FlagValues<FlagTable>
  /** The resources that the wing opened in this worker. */
  readonly parts?: unknown
  /** Aborted when the result is no longer needed (`timeout`, the end of the run) and when the worker stops; noticed with a heartbeat. */
  readonly signal: Signal
  /** Reports that the work continues, and its progress. */
  heartbeat(progress?: unknown): void
  /** The progress of the last heartbeat of an earlier try; undefined in the first try. */
  readonly progress: unknown
  readonly log: ActionLog
}

/** Writes to the worker's log, with fields. */
export interface ActionLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** Time-outs and retries of an activity. */
export interface CallOptions {
  /** Time-out of one try. */
  readonly timeoutMs: number
  /** Maximum number of tries before the failure is the action's fault; default 3. */
  readonly attempts?: number
  /** Delay before the second try; each further delay doubles, up to a minute. Default 1000. */
  readonly retryMs?: number
  /**
   * Maximum time between two calls of `heartbeat`; after a longer silence another try starts. Default: the kit sends heartbeats, which detects dead
   * workers but
   * not stuck work.
   */
  readonly heartbeatMs?: number
}

/** A failure with a code and retry policy; any other error is a retryable fault `ActivityFailed`. */
export class ActivityError extends Error {
  override readonly name = 'ActivityError'
  readonly code: string
  readonly retryable: boolean
  readonly retryMs: number | undefined

  /**
   * @param code of the fault, in CamelCase.
   * @param options `retryable`: another try may succeed; `retryMs`: delay before the next try.
   */
  constructor(
    code: string,
    message: string,
    options: { readonly retryable: boolean; readonly retryMs?: number; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable
    this.retryMs = options.retryMs
  }
}

/** The type of a value after JSON serialization. */
export type Answered<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends { toJSON(): infer Text }
    ? Text
    : Value extends (...args: never) => unknown
      ? never
      : Value extends object
        ? { readonly [Key in keyof Value]: Answered<Value[Key]> }
        : Value

/** The activities of a module as passes call them: with their input only. */
export type CallsOf<Module> = {
  readonly [Name in keyof Module as Module[Name] extends (...args: never) => Promise<unknown> ? Name : never]: CallOf<
    Module[Name]
  >
}

type CallOf<Activity> = Activity extends (input: infer Input, context: ActivityContext) => Promise<infer Result>
  ? unknown extends Input
    ? () => Promise<Answered<Result>>
    : (input: WithSecrets<Input>) => Promise<Answered<Result>>
  : never

/** The activities of a controller, created by `activitiesOf`. */
export interface OwnActivities<Calls extends object = object> {
  /** Called by the worker only. */
  readonly load: () => Promise<object>
  readonly options: Readonly<Record<string, CallOptions>>
  /** Never set; carries the type of the calls. */
  readonly calls?: Calls
}

/**
 * Declares the activities of a module for `defineLevel({ activities })` and `pass.call`:
 *
 *     export const quotes = activitiesOf(() => import('./quotes.activities.ts'), { fetchQuote: { timeoutMs: 5000 } })
 *
 * @param load imports the module, of a file or a package. It must be the `import` itself, so that the workflow bundle does not contain the module.
 * @throws a plain Error with the activity and the invalid field.
 */
export function activitiesOf<Module extends object>(
  load: () => Promise<Module>,
  options: { readonly [Name in keyof CallsOf<Module>]: CallOptions },
): OwnActivities<CallsOf<Module>> {
  for (const [name, one] of Object.entries<CallOptions>(options)) checkOptions(name, one)
  return { load, options }
}

/** The input of the activity that executes a call. */
export interface OwnCallInput {
  readonly subject: Subject
  readonly input?: unknown
  /** Places of Secret values in the input. */
  readonly gaps?: readonly SecretGap[]
}

/** Temporal's name of an own activity; includes the controller, because two controllers may use equal names. */
export function ownActivityName(controller: string, activity: string): string {
  return `${controller}.${activity}`
}

const LIMITS = { timeoutMs: 1, attempts: 1, retryMs: 0, heartbeatMs: 1000 } as const

function checkOptions(name: string, options: CallOptions): void {
  const given = new Map<string, unknown>(Object.entries(options))
  for (const [field, least] of Object.entries(LIMITS)) {
    const value = given.get(field)
    if (value === undefined && field !== 'timeoutMs') continue
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least)
      throw new Error(
        `activity ${name}: ${field}: found ${String(value)}; expected a whole number of at least ${least}`,
      )
  }
}
