// The connection to Temporal at the start of the process: Temporal may still be on its way.

import { NativeConnection } from '@temporalio/worker'

import { createBackoff, pause, persist } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import { connectionOptions, readApiKey, type TemporalTarget } from '../server/temporal.ts'
import type { Troubles } from '../server/troubles.ts'

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
