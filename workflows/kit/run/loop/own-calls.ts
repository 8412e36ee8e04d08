// Calls a controller's own activities from a pass, as regular Temporal activities with their own time-out and retry policy.
//
//   C1. A failed call is a fault of the action with the activity's code; it is retryable unless the activity says otherwise.
//   C2. A pass does not wait for a call in a cancelled scope (`timeout`). The activity learns of it with its next heartbeat.

import { writeJson } from '../../kind/exact-json.ts'
import { byteLength } from '../byte-limits.ts'
import type { LevelController } from '../level/define-level.ts'
import { MOST_CALL_BYTES, type OwnActivities, ownActivityName, type OwnCallInput } from '../level/own-activities.ts'
import { takeSecrets } from '../level/secret-values.ts'
import type { Subject } from '../subject.ts'
import type { Fault } from '../../plan/outcome.ts'
import { finalFailure, longActivities, retryableFailure, temporalRuntime } from './temporal.ts'

type Calls = Readonly<Record<string, (input?: unknown) => Promise<unknown>>>

// The worker sends heartbeats for activities that send none.
const HEARTBEAT_MS = 10_000
const LONGEST_RETRY_MS = 60_000

/**
 * Returns the calls of a pass.
 *
 * @throws a plain Error (a bug) for activities of another controller: no worker would have them.
 */
export function ownCalls<Of extends object>(
  { name: controller, activities }: Pick<LevelController, 'name' | 'activities'>,
  subject: Subject,
  of: OwnActivities<Of>,
): Of {
  if (activities?.load !== of.load)
    throw new Error(
      `controller ${controller} calls activities that it does not declare; add them to \`activities\` of defineLevel`,
    )
  const calls = Object.keys(of.options).map((name) => [name, callOf(controller, subject, of, name)] as const)
  return Object.fromEntries(calls) as Calls as Of
}

function callOf(controller: string, subject: Subject, { options }: OwnActivities, name: string): Calls[string] {
  const { timeoutMs, attempts = 3, retryMs = 1000, heartbeatMs = HEARTBEAT_MS } = options[name] ?? { timeoutMs: 0 }
  const type = ownActivityName(controller, name)
  const proxy = longActivities<Readonly<Record<string, (input: OwnCallInput) => Promise<unknown>>>>({
    startToCloseMs: timeoutMs,
    heartbeatMs,
    attempts,
    retryMs,
    factor: 2,
    summary: () => `call ${name}`,
    longestRetryMs: Math.max(retryMs, LONGEST_RETRY_MS),
  })
  return async (given) => {
    const { value: input, gaps } = takeSecrets(given)
    refuseTooLarge(name, input)
    try {
      const sent = { ...(input !== undefined && { input }), ...(gaps.length > 0 && { gaps }) }
      return await proxy[type]?.({ subject, ...sent })
    } catch (error) {
      const [fault] = temporalRuntime.toOutcome(error)?.faults ?? []
      if (fault === undefined) throw error
      throw failure(name, fault, timeoutMs)
    }
  }
}

/** C1, with the activity's name as prefix. */
function failure(name: string, { code, message, retryable }: Fault, timeoutMs: number) {
  if (code === 'Timeout')
    return retryableFailure(
      code,
      `activity ${name} exceeded its timeout of ${timeoutMs} ms, or sent no heartbeat: ${message}`,
    )
  const text = `${name}: ${message}`
  return retryable ? retryableFailure(code, text) : finalFailure(code, text)
}

function refuseTooLarge(name: string, input: unknown): void {
  const bytes = byteLength(writeJson(input ?? null))
  if (bytes > MOST_CALL_BYTES)
    throw finalFailure(
      'CallTooLarge',
      `activity ${name}: found arguments of ${Math.ceil(bytes / 1000)} kB; expected at most ${MOST_CALL_BYTES / 1000} kB; pass a reference to the data`,
    )
}
