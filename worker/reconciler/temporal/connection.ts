// The connection to Temporal: connects at the start of the process, refreshes the API key, and detects a silent server.

import { NativeConnection } from '@temporalio/worker'

import { createBackoff, pause, retryUntilStopped } from '../../server/backoff.ts'
import type { Logger } from '../../server/log.ts'
import { connectionOptions, readApiKey, type TemporalTarget } from '../../server/temporal.ts'
import type { ReadinessChecks } from '../../server/health.ts'

const DELAYS = { first: 200, longest: 5000 }

/** Retries until Temporal answers; /readyz reports the error meanwhile. Undefined if the process is stopped before that. */
export async function connectToTemporal(
  target: TemporalTarget,
  { log, checks }: { log: Logger; checks: ReadinessChecks },
  signal: AbortSignal,
): Promise<NativeConnection | undefined> {
  const connect = async () => await NativeConnection.connect(connectionOptions(target))
  const onFailure = (error: unknown, delayMs: number) => {
    checks.report('temporal', error)
    log.warn({ temporal: target.address, err: error, delayMs }, 'no connection to Temporal; connecting again')
  }
  const connection = await retryUntilStopped(connect, onFailure, {
    backoff: createBackoff(DELAYS, Math.random),
    signal,
  })
  if (connection !== undefined) checks.report('temporal', undefined)
  return connection
}

const READ_KEY_EVERY_MS = 30_000

/** Reads the API key file periodically and applies a changed key, until the signal is aborted. */
export async function refreshApiKey(
  connection: Pick<NativeConnection, 'setApiKey'>,
  { apiKey }: TemporalTarget,
  { log, everyMs = READ_KEY_EVERY_MS }: { readonly log: Logger; readonly everyMs?: number },
  signal: AbortSignal,
): Promise<void> {
  if (apiKey === undefined || !('path' in apiKey)) return
  let currentKey: string | undefined
  while (!signal.aborted) {
    try {
      const key = readApiKey(apiKey)
      if (key !== currentKey) await connection.setApiKey(key)
      currentKey = key
    } catch (error) {
      log.warn({ err: error }, "temporal's API key could not be read again; the previous one is used")
    }
    await pause(everyMs, signal)
  }
}

const PROBE_EVERY_MS = 10_000
const ANSWER_MS = 10_000
// A separate check on /readyz: the dispatcher also reports Temporal, and would reset the result of the probe.
const SILENCE = 'temporal-silence'

interface ProbeOptions {
  readonly log: Logger
  readonly report: (part: typeof SILENCE, error: unknown) => void
  /** Milliseconds between two probes, and how long to wait for the answer (10,000 each). */
  readonly probeEveryMs?: number
  readonly answerMs?: number
}

/**
 * Probes Temporal periodically, until the signal is aborted. A worker that only polls for tasks does not notice a dead connection, and the SDK reconnects only
 * 45 s after the last byte, which is not configurable. /readyz must fail earlier.
 */
export async function probeTemporal(
  connection: Pick<NativeConnection, 'withDeadline' | 'workflowService'>,
  { log, report, probeEveryMs = PROBE_EVERY_MS, answerMs = ANSWER_MS }: ProbeOptions,
  signal: AbortSignal,
): Promise<void> {
  const probe = async () =>
    await connection.withDeadline(Date.now() + answerMs, async () => await connection.workflowService.getSystemInfo({}))
  let isSilent = false
  for (;;) {
    await pause(probeEveryMs, signal)
    if (signal.aborted) return
    try {
      await withTimeout(probe(), answerMs, signal)
      if (isSilent) report(SILENCE, undefined)
      isSilent = false
    } catch (error) {
      if (!isSilent) log.warn({ err: error }, 'Temporal does not answer')
      isSilent = true
      report(SILENCE, error)
    }
  }
}

/** A deadline alone is not enough, because the SDK retries failed calls. */
async function withTimeout(answer: Promise<unknown>, ms: number, signal: AbortSignal): Promise<void> {
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
