// Activities of a controller's own: what its passes ask of the world beside Kubernetes. Declared here, called by passes (loop/own-calls.ts), run
// by the worker (activities/run/level/own-calls.ts). Pure: the module is named by a function that only the worker calls, because what passes
// import becomes part of the sandbox, and what calls need must not.
//
//   A1. The module exports what is declared, and no other async function: the compiler compares the names, and the worker when it starts.
//   A2. Input and result are JSON, and stay in the run's history: secrets by reference only, and not more than `MOST_CALL_BYTES` each.

import type { SecretGap, WithSecrets } from './secret-values.ts'
import type { Subject } from '../subject.ts'
import type { FlagTable, FlagValues } from '../wing.ts'

/** What is more than Temporal takes would be tried for ever. */
export const MOST_CALL_BYTES = 1_500_000

/** `AbortSignal` where a program has its type, from Node or a browser: the kit itself needs neither. */
export type Signal = typeof globalThis extends { readonly AbortSignal: { readonly prototype: infer Of } }
  ? Of
  : { readonly aborted: boolean }

/** What an activity is given beside its input. */
export interface ActivityContext {
  /** The object whose pass calls. */
  readonly subject: Subject
  /** The same in all tries of one call, and of no other: what an HTTP server may want as `Idempotency-Key`. */
  readonly callID: string
  /** 1 for the first try. */
  readonly attempt: number
  /** The worker's flags of the wing that the controller is of; absent for controllers of users. */
  readonly flags?: FlagValues<FlagTable>
  /** What that wing has opened in this worker. */
  readonly parts?: unknown
  /** Aborted when the result is not wanted any more (`timeout`, the end of the run) and when the worker stops; told with a heartbeat. */
  readonly signal: Signal
  /** Says that the work goes on, and how far it got. */
  heartbeat(progress?: unknown): void
  /** What the last heartbeat of an earlier try has said; undefined in the first one. */
  readonly progress: unknown
  readonly log: ActionLog
}

/** Lines in the worker's log, with fields. */
export interface ActionLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** How one of the activities is called. */
export interface CallOptions {
  /** How long one try may take. */
  readonly timeoutMs: number
  /** How often it is tried at most, before its failure is the action's; default 3. */
  readonly attempts?: number
  /** Wait before the second try; each further one is twice as long, a minute at most. Default 1000. */
  readonly retryMs?: number
  /**
   * The activity calls `heartbeat` at least so often; a try that is silent for longer is given up for another one. Default: the kit does it, which
   * tells of a worker that died and not of work that is stuck.
   */
  readonly heartbeatMs?: number
}

/** What an activity may say of its failure; what else it throws is a fault `ActivityFailed` that may pass. */
export class ActivityError extends Error {
  override readonly name = 'ActivityError'
  readonly code: string
  readonly retryable: boolean
  readonly retryMs: number | undefined

  /**
   * @param code of the fault, in CamelCase.
   * @param options `retryable`: trying again may help; `retryMs`: wait so long before the next try.
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

/** What is left of a value that went through JSON. */
export type Answered<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends { toJSON(): infer Text }
    ? Text
    : Value extends (...args: never) => unknown
      ? never
      : Value extends object
        ? { readonly [Key in keyof Value]: Answered<Value[Key]> }
        : Value

/** The activities of a module, as passes call them: with their input alone. */
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

/** The activities of a controller; made by `activitiesOf`. */
export interface OwnActivities<Calls extends object = object> {
  /** By the worker alone. */
  readonly load: () => Promise<object>
  readonly options: Readonly<Record<string, CallOptions>>
  /** Never there: the type of the calls. */
  readonly calls?: Calls
}

/**
 * Declares the activities of a module for `defineLevel({ activities })` and for `pass.call`:
 *
 *     export const quotes = activitiesOf(() => import('./quotes.activities.ts'), { fetchQuote: { timeoutMs: 5000 } })
 *
 * @param load imports the module, of a file or a package. It has to be the `import` itself, so that the sandbox is made without it.
 * @throws a plain Error that names the activity and the field that is none.
 */
export function activitiesOf<Module extends object>(
  load: () => Promise<Module>,
  options: { readonly [Name in keyof CallsOf<Module>]: CallOptions },
): OwnActivities<CallsOf<Module>> {
  for (const [name, one] of Object.entries<CallOptions>(options)) checkOptions(name, one)
  return { load, options }
}

/** What the worker is sent of a call. */
export interface OwnCallInput {
  readonly subject: Subject
  readonly input?: unknown
  /** Where values of Secrets go into the input. */
  readonly gaps?: readonly SecretGap[]
}

/** The name by which Temporal knows an activity of a controller: those of others may be called alike. */
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
      throw new Error(`activity ${name}: ${field} is ${String(value)}, expected a whole number of at least ${least}`)
  }
}
