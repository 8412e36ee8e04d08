// Registers activities of users' controllers: adds the context of the kit, heartbeats for activities that send none, and conversion of errors.
//
//   O1. `ActivityError` says whether it is retryable. All other errors are retryable.
//   O2. A heartbeat of the kit repeats the details of the activity's last heartbeat.
//   O3. Values of Secrets are inserted into the input here, and no failure contains them.

import { ApplicationFailure, CancelledFailure } from '@temporalio/common'
import { Context, log } from '@temporalio/activity'
import {
  type ActionLog,
  type ActivityContext,
  ActivityError,
  type CallOptions,
  type FlagTable,
  type FlagValues,
  type LevelDeclaration,
  MOST_CALL_BYTES,
  ownActivityName,
  type OwnCallInput,
  type Subject,
  writeJson,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { finalFailure } from '../../kube/errors.ts'
import { fillSecrets } from './fill-secrets.ts'
import { nameOf } from './kinds.ts'

/** The functions of a user's module, by name. */
export type OwnFunctions = Readonly<Record<string, (input: unknown, context: ActivityContext) => Promise<unknown>>>

type Registered = (call: OwnCallInput) => Promise<unknown>

const UNEXPECTED = { code: 'ActivityFailed' } as const
// Much shorter than the heartbeat time-out of workflows/kit/run/loop/own-calls.ts; the SDK throttles heartbeats.
const HEARTBEAT_MS = 1000

/** Dependencies of the registered activities. */
interface ActivityParts {
  readonly deps: Deps
  /** Flags of the controller's wing; undefined for controllers of users. */
  readonly flags?: FlagValues<FlagTable> | undefined
  /** Parts that the controller's wing has opened; undefined for controllers of users. */
  readonly parts?: unknown
}

/** @param functions exports of the module, by name. */
export function ownActivities(
  { name: controller, activities }: Pick<LevelDeclaration, 'name' | 'activities'>,
  functions: OwnFunctions,
  surroundings: ActivityParts,
): Readonly<Record<string, Registered>> {
  const all = Object.entries(activities?.options ?? {}).flatMap(([name, options]) => {
    const run = functions[name]
    return run === undefined
      ? []
      : [[ownActivityName(controller, name), registered(name, options, { run, ...surroundings })] as const]
  })
  return Object.fromEntries(all)
}

interface Run extends ActivityParts {
  readonly run: OwnFunctions[string]
}

function registered(name: string, { heartbeatMs }: CallOptions, { run, deps, ...ofWing }: Run): Registered {
  return async ({ subject, input, gaps }) => {
    const { context, beat } = contextOf(name, subject, ofWing)
    const by = { workflowID: Context.current().info.workflowExecution?.workflowId ?? '' }
    const { value, redacted: texts } = await fillSecrets(deps, { by, subject }, input, gaps)
    const timer = heartbeatMs === undefined ? setInterval(beat, HEARTBEAT_MS) : undefined
    try {
      const result = await run(value, context)
      refuseTooLarge(name, result)
      return result
    } catch (error) {
      throw isCancellation(error) ? error : toFailure(error, texts)
    } finally {
      clearInterval(timer)
    }
  }
}

function contextOf(
  name: string,
  subject: Subject,
  { flags, parts }: Omit<ActivityParts, 'deps'>,
): { readonly context: ActivityContext; readonly beat: () => void } {
  const temporal = Context.current()
  const { workflowExecution, activityId, attempt } = temporal.info
  const progress = temporal.info.heartbeatDetails as unknown
  let latest = progress
  const beat = () => {
    temporal.heartbeat(latest)
  }
  const context: ActivityContext = {
    ...(flags !== undefined && { flags }),
    ...(parts !== undefined && { parts }),
    subject,
    attempt,
    progress,
    signal: temporal.cancellationSignal,
    log: logOf({ object: nameOf(subject.kind, subject), activity: name, tried: attempt }),
    callID: [workflowExecution?.workflowId, workflowExecution?.runId, activityId].join('/'),
    heartbeat(messageOf) {
      latest = messageOf
      beat()
    },
  }
  return { context, beat }
}

function logOf(fields: object): ActionLog {
  return {
    debug: (message, own) => void log.debug(message, { ...own, ...fields }),
    info: (message, own) => void log.info(message, { ...own, ...fields }),
    warn: (message, own) => void log.warn(message, { ...own, ...fields }),
    error: (message, own) => void log.error(message, { ...own, ...fields }),
  }
}

/** Whether the SDK treats the error as a cancellation. Other errors after a cancellation may quote the input. */
export function isCancellation(error: unknown): boolean {
  return error instanceof CancelledFailure || (error instanceof Error && error.name === 'AbortError')
}

/** O1, O3. @param secretTexts texts that the failure must not contain. */
export function toFailure(error: unknown, secretTexts: readonly string[]): unknown {
  if (secretTexts.length > 0) return toFailure(redacted(error, secretTexts), [])
  if (error instanceof ApplicationFailure) return error
  if (isActivityError(error)) {
    const { code, message, retryable, retryMs } = error
    return ApplicationFailure.create({
      type: code,
      message,
      nonRetryable: !retryable,
      cause: error,
      ...(retryMs !== undefined && { nextRetryDelay: retryMs }),
    })
  }
  const cause = error instanceof Error ? error : new Error(String(error))
  return ApplicationFailure.create({ type: UNEXPECTED.code, message: fullMessage(cause), cause })
}

/** Removes the texts from the message, and drops cause and stack, which may contain them. */
function redacted(error: unknown, texts: readonly string[]): unknown {
  const message = texts
    .filter((text) => text.trim() !== '')
    .reduce((left, text) => left.replaceAll(text, '***'), error instanceof Error ? fullMessage(error) : String(error))
  if (error instanceof ApplicationFailure)
    return ApplicationFailure.create({
      message,
      type: error.type ?? 'Unknown',
      nonRetryable: error.nonRetryable === true,
    })
  if (!isActivityError(error)) return new Error(message)
  const { code, retryable, retryMs } = error
  return new ActivityError(code, message, { retryable, ...(retryMs !== undefined && { retryMs }) })
}

/** Adds the message of the cause: `fetch failed` alone explains nothing. */
function fullMessage({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message
}

/** Checks the shape, because the user's module may import another copy of the kit. */
function isActivityError(error: unknown): error is ActivityError {
  return error instanceof Error && error.name === 'ActivityError' && 'code' in error && 'retryable' in error
}

function refuseTooLarge(name: string, result: unknown): void {
  const bytes = Buffer.byteLength(writeJson(result ?? null))
  if (bytes > MOST_CALL_BYTES)
    throw finalFailure(
      'CallTooLarge',
      `activity ${name}: found a result of ${Math.ceil(bytes / 1000)} kB; expected at most ${MOST_CALL_BYTES / 1000} kB; return a reference to the data`,
    )
}
