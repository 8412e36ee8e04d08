// The connection to Temporal: at the start of the process, when Temporal may still be on its way, and later, when it may have fallen silent.

import { NativeConnection } from '@temporalio/worker'

import { createBackoff, pause, persist } from '../../server/backoff.ts'
import type { Logger } from '../../server/log.ts'
import { connectionOptions, readApiKey, type TemporalTarget } from '../../server/temporal.ts'
import type { Troubles } from '../../server/health.ts'

const DELAYS = { first: 200, longest: 5000 }

/** Tries until Temporal answers; /readyz says so meanwhile. Undefined when the process is told to stop before that. */
export async function connectToTemporal(
  target: TemporalTarget,
  { log, troubles }: { log: Logger; troubles: Troubles },
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  const connect = async () => await NativeConnection.connect(connectionOptions(target))
  const failed = (error: unknown, delayMs: number) => {
    troubles.report('temporal', error)
    log.warn({ temporal: target.address, err: error, delayMs }, 'no connection to temporal; connecting again')
  }
  const connection = await persist(connect, failed, { backoff: createBackoff(DELAYS, Math.random), signal })
  if (connection !== undefined) troubles.report('temporal', undefined)
  return connection
}

const READ_KEY_EVERY_MS = 30_000

/** Takes up an API key that has changed in its file, until the signal. */
export async function followApiKey(
  connection: Pick<NativeConnection, 'setApiKey'>,
  { apiKey }: TemporalTarget,
  { log, everyMs = READ_KEY_EVERY_MS }: { readonly log: Logger; readonly everyMs?: number },
  signal: AbortSignal,
): Promise<void> {
  if (apiKey === undefined || !('path' in apiKey)) return
  let known: string | undefined
  while (!signal.aborted) {
    try {
      const key = readApiKey(apiKey)
      if (key !== known) await connection.setApiKey(key)
      known = key
    } catch (error) {
      log.warn({ err: error }, "temporal's API key could not be read again; the former one counts")
    }
    await pause(everyMs, signal)
  }
}

const ASK_EVERY_MS = 10_000
const ANSWER_MS = 10_000
// A part of its own: what the dispatcher says of Temporal, it also says where it did not need to ask it.
const SILENCE = 'temporal-silence'

interface Watching {
  readonly log: Logger
  readonly report: (part: typeof SILENCE, error: unknown) => void
  /** Milliseconds between two questions, and how long an answer is waited for (10,000 each). */
  readonly askEveryMs?: number
  readonly answerMs?: number
}

/**
 * Asks Temporal now and then, until the signal. Who only waits for tasks would not notice that nobody is there any more, and the SDK, which takes no setting
 * for it, makes the connection anew 45 s after the last byte: others shall not count on this worker until then.
 */
export async function watchTemporal(
  connection: Pick<NativeConnection, 'withDeadline' | 'workflowService'>,
  { log, report, askEveryMs = ASK_EVERY_MS, answerMs = ANSWER_MS }: Watching,
  signal: AbortSignal,
): Promise<void> {
  const ask = async () =>
    await connection.withDeadline(Date.now() + answerMs, async () => await connection.workflowService.getSystemInfo({}))
  let isSilent = false
  for (;;) {
    await pause(askEveryMs, signal)
    if (signal.aborted) return
    try {
      await inTime(ask(), answerMs, signal)
      if (isSilent) report(SILENCE, undefined)
      isSilent = false
    } catch (error) {
      if (!isSilent) log.warn({ err: error }, 'temporal does not answer')
      isSilent = true
      report(SILENCE, error)
    }
  }
}

/** The SDK tries again what has failed, so its deadline alone is none. */
async function inTime(answer: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const silence = pause(ms, AbortSignal.any([signal, over.signal])).then(() => {
    if (!over.signal.aborted && !signal.aborted) throw new Error(`no answer in ${ms} ms`)
  })
  try {
    await Promise.race([answer, silence])
  } finally {
    over.abort()
  }
}
